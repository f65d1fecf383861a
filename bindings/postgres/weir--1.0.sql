-- The PostgreSQL extension weir. docs/postgres.md is the manual.
\echo Use "CREATE EXTENSION weir" to load this file. \quit

-- ---- the type: the bytes of a saved filter or sketch ----

CREATE TYPE weirfilter;
CREATE FUNCTION weirfilter_in(cstring) RETURNS weirfilter AS 'MODULE_PATHNAME', 'pgweir_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weirfilter_out(weirfilter) RETURNS cstring AS 'byteaout' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weirfilter_recv(internal) RETURNS weirfilter AS 'MODULE_PATHNAME', 'pgweir_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weirfilter_send(weirfilter) RETURNS bytea AS 'byteasend' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
-- External: filters do not compress.
CREATE TYPE weirfilter (INPUT = weirfilter_in, OUTPUT = weirfilter_out, RECEIVE = weirfilter_recv, SEND = weirfilter_send, STORAGE = external);
COMMENT ON TYPE weirfilter IS 'a saved filter or sketch of weir';

CREATE FUNCTION weirfilter(bytea) RETURNS weirfilter AS 'MODULE_PATHNAME', 'pgweir_check' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (bytea AS weirfilter) WITH FUNCTION weirfilter(bytea) AS ASSIGNMENT;
CREATE CAST (weirfilter AS bytea) WITHOUT FUNCTION AS ASSIGNMENT;

-- ---- lookups ----

CREATE FUNCTION weir_has(filter weirfilter, key text) RETURNS boolean AS 'MODULE_PATHNAME', 'pgweir_has_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weir_has(filter weirfilter, key bytea) RETURNS boolean AS 'MODULE_PATHNAME', 'pgweir_has_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weir_has(filter weirfilter, key bigint) RETURNS boolean AS 'MODULE_PATHNAME', 'pgweir_has_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR @> (LEFTARG = weirfilter, RIGHTARG = text, FUNCTION = weir_has, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = weirfilter, RIGHTARG = bytea, FUNCTION = weir_has, RESTRICT = contsel, JOIN = contjoinsel);
CREATE OPERATOR @> (LEFTARG = weirfilter, RIGHTARG = bigint, FUNCTION = weir_has, RESTRICT = contsel, JOIN = contjoinsel);

-- ---- descriptions ----

CREATE FUNCTION weir_count(sketch weirfilter, key text) RETURNS bigint AS 'MODULE_PATHNAME', 'pgweir_count_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weir_count(sketch weirfilter, key bytea) RETURNS bigint AS 'MODULE_PATHNAME', 'pgweir_count_bytea' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weir_count(sketch weirfilter, key bigint) RETURNS bigint AS 'MODULE_PATHNAME', 'pgweir_count_bigint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weir_info(filter weirfilter) RETURNS jsonb AS 'MODULE_PATHNAME', 'pgweir_info' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weir_top(sketch weirfilter) RETURNS TABLE (key text, count bigint, error bigint, bytes bytea) AS 'MODULE_PATHNAME', 'pgweir_top' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1000;
CREATE FUNCTION weir_top(sketch weirfilter, which text) RETURNS TABLE (key text, count bigint, error bigint, bytes bytea) AS 'MODULE_PATHNAME', 'pgweir_top' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1000;

-- ---- aggregates ----

CREATE FUNCTION weir_agg_add(internal, text) RETURNS internal AS 'MODULE_PATHNAME', 'pgweir_agg_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION weir_agg_add(internal, text, text) RETURNS internal AS 'MODULE_PATHNAME', 'pgweir_agg_text' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION weir_agg_add(internal, bytea) RETURNS internal AS 'MODULE_PATHNAME', 'pgweir_agg_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION weir_agg_add(internal, bytea, text) RETURNS internal AS 'MODULE_PATHNAME', 'pgweir_agg_bytea' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION weir_agg_add(internal, bigint) RETURNS internal AS 'MODULE_PATHNAME', 'pgweir_agg_bigint' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION weir_agg_add(internal, bigint, text) RETURNS internal AS 'MODULE_PATHNAME', 'pgweir_agg_bigint' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION weir_merge_add(internal, weirfilter) RETURNS internal AS 'MODULE_PATHNAME', 'pgweir_merge_add' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION weir_agg_combine(internal, internal) RETURNS internal AS 'MODULE_PATHNAME', 'pgweir_agg_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION weir_agg_pack(internal) RETURNS bytea AS 'MODULE_PATHNAME', 'pgweir_agg_pack' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weir_agg_unpack(bytea, internal) RETURNS internal AS 'MODULE_PATHNAME', 'pgweir_agg_unpack' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION weir_agg_finish(internal) RETURNS weirfilter AS 'MODULE_PATHNAME', 'pgweir_agg_finish' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION weir_merge_finish(internal) RETURNS weirfilter AS 'MODULE_PATHNAME', 'pgweir_merge_finish' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE AGGREGATE weir_agg(text) (SFUNC = weir_agg_add, STYPE = internal, FINALFUNC = weir_agg_finish, COMBINEFUNC = weir_agg_combine, SERIALFUNC = weir_agg_pack, DESERIALFUNC = weir_agg_unpack, PARALLEL = SAFE);
CREATE AGGREGATE weir_agg(text, text) (SFUNC = weir_agg_add, STYPE = internal, FINALFUNC = weir_agg_finish, COMBINEFUNC = weir_agg_combine, SERIALFUNC = weir_agg_pack, DESERIALFUNC = weir_agg_unpack, PARALLEL = SAFE);
CREATE AGGREGATE weir_agg(bytea) (SFUNC = weir_agg_add, STYPE = internal, FINALFUNC = weir_agg_finish, COMBINEFUNC = weir_agg_combine, SERIALFUNC = weir_agg_pack, DESERIALFUNC = weir_agg_unpack, PARALLEL = SAFE);
CREATE AGGREGATE weir_agg(bytea, text) (SFUNC = weir_agg_add, STYPE = internal, FINALFUNC = weir_agg_finish, COMBINEFUNC = weir_agg_combine, SERIALFUNC = weir_agg_pack, DESERIALFUNC = weir_agg_unpack, PARALLEL = SAFE);
CREATE AGGREGATE weir_agg(bigint) (SFUNC = weir_agg_add, STYPE = internal, FINALFUNC = weir_agg_finish, COMBINEFUNC = weir_agg_combine, SERIALFUNC = weir_agg_pack, DESERIALFUNC = weir_agg_unpack, PARALLEL = SAFE);
CREATE AGGREGATE weir_agg(bigint, text) (SFUNC = weir_agg_add, STYPE = internal, FINALFUNC = weir_agg_finish, COMBINEFUNC = weir_agg_combine, SERIALFUNC = weir_agg_pack, DESERIALFUNC = weir_agg_unpack, PARALLEL = SAFE);
CREATE AGGREGATE weir_merge(weirfilter) (SFUNC = weir_merge_add, STYPE = internal, FINALFUNC = weir_merge_finish, COMBINEFUNC = weir_agg_combine, SERIALFUNC = weir_agg_pack, DESERIALFUNC = weir_agg_unpack, PARALLEL = SAFE);
