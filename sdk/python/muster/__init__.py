"""Report runs, KPIs and LLM tokens of an agent to muster.

    import muster

    agent = muster.Agent("invoice-bot", kpis=["invoices"], interval=3600)
    with agent.run() as run:
        run.step("Read the inbox")
        run.kpi("invoices", 12)

docs/AGENTS.md of the project explains everything else.
"""

from .agent import Agent
from .declare import KPI, Field, Param
from .errors import ApiError, BudgetExceeded, MusterError, Problem, Refused, Unavailable
from .run import Run, current_run
from .transport import VERSION as __version__
from .usage import Tokens, tokens_of

__all__ = [
    "KPI",
    "Agent",
    "ApiError",
    "BudgetExceeded",
    "Field",
    "MusterError",
    "Param",
    "Problem",
    "Refused",
    "Run",
    "Tokens",
    "Unavailable",
    "__version__",
    "current_run",
    "tokens_of",
]
