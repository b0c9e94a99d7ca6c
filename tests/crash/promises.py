"""The promises about fair shares, A1 to A18, and the black-box tests that hold the service to them.

Each test is `file::test` below tests/integration. Those of `BOTH` run on either store; a promise that
the stores keep in different ways, or that is about one of them, has its tests under that store.
tests/gates/test_promises.py holds this table to be complete, tests/crash/test_controls.py shows that
each test fails on a program without the bound (tests/hooks/lift_bounds.py).
"""

BOTH, SQLITE, POSTGRES = "both", "sqlite", "postgres"

PROMISES = {
    "A1": {BOTH: [
        "test_shares.py::test_unfinished_bodies_of_callers_without_a_key_stop_nobody",
        "test_shares.py::test_a_route_without_a_key_takes_small_bodies_only",
    ]},
    "A2": {BOTH: ["test_shares.py::test_a_tenant_holds_its_share_and_leaves_the_rest"]},
    "A3": {BOTH: [
        "test_shares.py::test_a_half_sent_body_blocks_nobody_and_has_a_deadline",
        "test_shares.py::test_a_body_has_30_seconds_and_its_size_at_64_kib_per_second",
    ]},
    "A4": {BOTH: ["test_shares.py::test_replies_that_nobody_reads_are_counted_and_reads_refused"]},
    "A5": {BOTH: [
        "test_large_reads.py::test_a_run_of_any_size_is_read_to_its_end",
        "test_large_reads.py::test_a_page_of_runs_with_long_texts_ends_at_its_bytes",
    ]},
    "A6": {BOTH: ["test_turns.py::test_an_event_waits_for_few_of_another_tenants_dear_jobs"]},
    # PostgreSQL keeps its own log
    "A7": {SQLITE: [
        "test_large_reads.py::test_the_log_stays_below_its_ceiling_beside_a_stalled_export",
    ]},
    # the floor is of the disk that the service writes to
    "A8": {BOTH: [
        "test_quota.py::test_at_the_quota_reports_are_507_and_all_else_goes_on",
        "test_list_bounds.py::test_the_oldest_closed_alerts_make_room_for_new_ones",
        "test_config.py::test_the_same_secret_is_entered_once_an_hour_for_each_key",
        "test_list_bounds.py::test_the_people_of_a_workspace_make_600_changes_in_a_minute",
        "test_kpi_rollups.py::test_a_report_of_nothing_takes_no_room_but_says_the_version",
        "test_kpi_rollups.py::test_a_report_that_moves_to_another_day_leaves_no_totals_behind",
    ],
           SQLITE: ["test_space.py::test_below_the_floor_only_reports_are_refused"]},
    "A9": {BOTH: ["test_rotation.py::test_a_line_of_keys_rotates_ten_times_an_hour"]},
    "A10": {BOTH: [
        "test_export.py::test_a_revoked_key_ends_its_export",
        "test_rotation.py::test_revoking_a_key_ends_all_that_came_from_it",
    ]},
    "A11": {BOTH: ["test_address.py::test_the_client_is_who_the_last_trusted_proxy_saw"]},
    "A12": {BOTH: ["test_shares.py::test_an_address_has_a_share_of_the_connections"]},
    "A13": {SQLITE: ["test_space.py::test_below_the_floor_only_reports_are_refused"],
            POSTGRES: ["test_faults.py::test_a_database_that_crashes_is_503_and_health_says_so"]},
    "A14": {BOTH: ["test_checksums.py::test_no_read_answers_with_a_damaged_row"]},
    "A15": {BOTH: ["test_checksums.py::test_check_prints_every_damaged_row"],
            SQLITE: ["test_backup.py::test_check_prints_every_problem_in_full"]},
    "A16": {BOTH: [
        "test_declared.py::test_every_administrative_operation_refuses_an_unknown_member",
        "test_declared.py::test_a_typo_changes_nothing",
    ]},
    "A17": {BOTH: [
        "test_business.py::test_a_report_that_replaced_another_says_so",
        "test_llm.py::test_a_report_that_replaced_another_says_so",
    ]},
    "A18": {BOTH: ["test_tenant_delete.py::test_a_deleted_tenant_leaves_nothing"]},
}  # fmt: skip


def tests_of(promise, store):
    row = PROMISES[promise]
    return row.get(BOTH, []) + row.get(store, [])


def every_test():
    """(promise, store, test), one for each that must fail without the bound."""
    return [
        (promise, store, test)
        for promise in PROMISES
        for store in (SQLITE, POSTGRES)
        for test in tests_of(promise, store)
    ]
