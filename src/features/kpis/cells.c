/* cells.c - parses stored breakdowns. */
#include "features/kpis/cells.h"

#include "shape/json.h"

bool cells_read_names(struct str text, struct arena *arena, struct list *ret)
{
    yyjson_doc *doc = json_read_stored(text);
    yyjson_val *root = yyjson_doc_get_root(doc), *name;
    struct str *names = ARENA_ARRAY(arena, struct str, yyjson_arr_size(root) + 1);
    bool valid = yyjson_is_arr(root);
    size_t i, n;

    yyjson_arr_foreach(root, i, n, name)
    {
        valid &= yyjson_is_str(name);
        names[i] = arena_copy(arena, str_from(yyjson_get_str(name), yyjson_get_len(name)));
    }
    *ret = (struct list){ names, yyjson_arr_size(root) };
    yyjson_doc_free(doc);
    return valid;
}

static void read_value(yyjson_val *value, struct named_value *ret)
{
    ret->string = STR_NULL;
    if (yyjson_is_str(value)) {
        ret->kind = VALUE_STR;
        ret->string = str_from(yyjson_get_str(value), yyjson_get_len(value));
    } else if (yyjson_is_int(value)) {
        ret->kind = VALUE_INT;
        ret->integer = yyjson_get_sint(value);
    } else {
        ret->kind = VALUE_REAL;
        ret->real = yyjson_get_num(value);
    }
}

bool cells_each(struct str text, struct named_value *room, size_t n, cells_fn *on_cell, void *ctx)
{
    yyjson_doc *doc = json_read_stored(text);
    yyjson_val *root = yyjson_doc_get_root(doc), *cell, *value;
    bool valid = yyjson_is_arr(root);
    size_t i, n_cells, j, n_values;

    yyjson_arr_foreach(root, i, n_cells, cell)
    {
        valid &= yyjson_arr_size(cell) == n + 1 && yyjson_is_num(yyjson_arr_get_last(cell));
        if (!valid)
            break;
        yyjson_arr_foreach(cell, j, n_values, value)
        {
            if (j < n)
                read_value(value, &room[j]);
        }
        on_cell(ctx, room, yyjson_get_num(yyjson_arr_get_last(cell)));
    }
    yyjson_doc_free(doc);
    return valid;
}
