-- FILTER
SELECT device, window, count(*) FILTER (WHERE n > 3) AS a, sum(n) FILTER (WHERE alarm) AS b, max(x) FILTER (WHERE device = 'd1') AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- FILTER that leaves nothing
SELECT device, sum(n) FILTER (WHERE false) AS a, count(n) FILTER (WHERE n > 99) AS b, avg(n) FILTER (WHERE CAST(NULL AS BOOLEAN)) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- FILTER with a key and a qualified name
SELECT device, count(*) FILTER (WHERE r.device = 'd1' AND r.n > 2) AS c FROM readings r GROUP BY device, window(ts, '2 hours', '1 hour')

-- counts
SELECT count(*) AS a, count(1) AS b, count(n) AS c, count(NULL) AS d, count_if(n > 3) AS e, count(x IS NULL) AS f FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- extremes of all types
SELECT max(device) AS a, min(state) AS b, max(price) AS c, min(alarm) AS d, max(ts) AS e, min(local) AS f, max(x) AS g, min(x) AS h, max(to_date(ts)) AS i, min(payload) AS j, max(xs) AS k FROM readings GROUP BY load, window(ts, '2 hours', '1 hour')

-- sums of all types
SELECT sum(n) AS a, sum(load) AS b, sum(price) AS c, sum(CAST(x AS FLOAT)) AS d, sum(x) AS e, sum(CAST(n AS TINYINT)) AS f, sum(CAST(NULL AS INT)) AS g FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- means
SELECT avg(n) AS a, mean(load) AS b, avg(x) AS c, avg(CAST(n AS FLOAT)) AS d, avg(n) AS again FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- the mean of decimals [plain]
SELECT device, window, avg(price) AS p FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- variances
SELECT variance(n) AS a, var_samp(n) AS b, var_pop(n) AS c, stddev(n) AS d, std(n) AS e, stddev_samp(load) AS f, stddev_pop(load) AS g FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- booleans
SELECT any(alarm) AS a, some(n > 3) AS b, bool_or(n > 5) AS c, every(alarm) AS d, bool_and(n < 5) AS e FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- expressions inside
SELECT sum(n * 2 + load) AS a, max(length(device)) AS b, min(abs(n - 3)) AS c, sum(if(alarm, n, -n)) AS d, max(concat(device, state)) AS e, avg(CAST(state AS INT)) AS f FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- functions of aggregates
SELECT sqrt(var_pop(load)) AS a, greatest(max(n), max(load)) AS b, least(min(n), 1) AS c, coalesce(sum(n), 0) AS d, abs(min(n) - max(n)) AS e, log2(count(*)) AS f FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- aggregates of keys and of the window [either]
SELECT device, max(device) AS a, count(device) AS b, min(window.start) AS c FROM readings GROUP BY device, window(ts, '2 hours')

-- count(DISTINCT)
SELECT window, count(DISTINCT device) AS c FROM readings GROUP BY window(ts, '2 hours')

-- sum(DISTINCT)
SELECT window, sum(DISTINCT n) AS c FROM readings GROUP BY window(ts, '2 hours')

-- a percentile
SELECT window, percentile(n, 0.5) AS p FROM readings GROUP BY window(ts, '2 hours')

-- a percentile WITHIN GROUP
SELECT window, percentile_cont(0.25) WITHIN GROUP (ORDER BY n) AS p FROM readings GROUP BY window(ts, '2 hours')

-- a median
SELECT window, median(n) AS p FROM readings GROUP BY window(ts, '2 hours')

-- lists and sets in an order
SELECT window, sort_array(collect_list(n)) AS a, sort_array(collect_set(device)) AS b FROM readings GROUP BY window(ts, '2 hours')

-- a list as it comes [plain]
SELECT window, array_sort(collect_list(n), (a, b) -> b - a) AS a FROM readings GROUP BY window(ts, '2 hours')

-- texts in the order of their values
SELECT device, window, listagg(state, ', ') WITHIN GROUP (ORDER BY state) AS a, count(*) AS n FROM readings GROUP BY device, window(ts, '2 hours')

-- a key of any row
SELECT any_value(device), first(device, true) AS b, last_value(r.device) AS c, first(upper(state)) AS d, any_value('x') AS e, count(*) AS n FROM readings r GROUP BY device, upper(state), window(ts, '2 hours') HAVING first(device) IS NOT NULL

-- max_by, where no two rows that differ are equal
SELECT window, max_by(n, xxhash64(ts, n)) AS a, min_by(device, xxhash64(ts, device)) AS b FROM readings GROUP BY window(ts, '2 hours')

-- max_by a struct
SELECT window, max_by(n, struct(ts, n)) AS a, min_by(struct(device, n), struct(ts, n, device)) AS b FROM readings GROUP BY window(ts, '2 hours')

-- max_by of several [plain]
SELECT window, max_by(n, struct(ts, n), 2) AS a FROM readings GROUP BY window(ts, '2 hours')

-- a count of registers
SELECT device, window, approx_count_distinct(n) AS c, approx_count_distinct(DISTINCT n, 0.1) + 1 AS d FROM readings GROUP BY device, window(ts, '2 hours')

-- a sketch of Spark's
SELECT window, theta_sketch_estimate(theta_sketch_agg(n)) AS c FROM readings GROUP BY window(ts, '2 hours')

-- a sketch that is exact only within its error [plain]
SELECT window, hll_sketch_estimate(hll_sketch_agg(n)) AS c FROM readings GROUP BY window(ts, '2 hours')

-- a shared aggregate beside one that is not [plain]
SELECT device, max(n) AS m, try_avg(n) AS c FROM readings GROUP BY device, window(ts, '2 hours')

-- try_sum [either]
SELECT device, try_sum(n) AS s, try_avg(n) AS a FROM readings GROUP BY device, window(ts, '2 hours')
