-- a column that is not there [refused]
SELECT device, window, max(nn) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a key that is not there [refused]
SELECT devise, window, max(n) AS m FROM readings GROUP BY devise, window(ts, '2 hours', '1 hour')

-- a time that is not there [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(tss, '2 hours', '1 hour')

-- a table that is not there [refused]
SELECT device, window, max(n) AS m FROM reading GROUP BY device, window(ts, '2 hours', '1 hour')

-- a function that is not there [refused]
SELECT device, window, maxx(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a column in WHERE that is not there [refused]
SELECT device, window, max(n) AS m FROM readings WHERE nn > 1 GROUP BY device, window(ts, '2 hours', '1 hour')

-- an alias in WHERE [refused]
SELECT device, window, max(n) AS m FROM readings WHERE m > 1 GROUP BY device, window(ts, '2 hours', '1 hour')

-- an alias in HAVING that is not there [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING mm > 1

-- a column that is no key [refused]
SELECT device, state, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a column that is no key, in HAVING [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING state = '3'

-- a name of muntin's own for the begin [refused]
SELECT device, begin, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a name of muntin's own for a key, in HAVING [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING k0 = 'd1'

-- an aggregate in WHERE [refused]
SELECT device, window, max(n) AS m FROM readings WHERE max(n) > 1 GROUP BY device, window(ts, '2 hours', '1 hour')

-- an aggregate of an aggregate [refused]
SELECT device, window, max(sum(n)) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- the sum of booleans [refused]
SELECT device, window, sum(alarm) AS s FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- the maximum of a map [refused]
SELECT device, window, max(tags) AS s FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- any of a number [refused]
SELECT device, window, any(n) AS s FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a time that is a number [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(n, '2 hours', '1 hour')

-- a slide beyond the size [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '1 hour', '2 hours')

-- a size of nothing [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '0 hours')

-- an offset beyond the slide [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour', '3 hours')

-- a unit that is not there [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 ours')

-- a duration in months [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '1 month')

-- a name that may be of two tables [refused]
SELECT device, window, max(n) AS m FROM readings r JOIN devices d ON r.device = d.device GROUP BY device, window(ts, '2 hours', '1 hour')

-- a table by the name that its alias hides [refused]
SELECT readings.device, window, max(n) AS m FROM readings AS r GROUP BY readings.device, window(ts, '2 hours', '1 hour')

-- a field that is not there [refused]
SELECT payload.device, max(n) AS m FROM readings GROUP BY payload.device, window(ts, '2 hours', '1 hour')

-- a field of the window that is not there [refused]
SELECT device, window.begin, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a field of the window that is not there, in HAVING [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING window.stop > '2024-01-01'

-- a function of answers with too many arguments [refused]
SELECT device, upper(device, max(n)) AS u FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- HAVING that is no condition [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour') HAVING window

-- WHERE that is no condition [refused]
SELECT device, window, max(n) AS m FROM readings WHERE n GROUP BY device, window(ts, '2 hours', '1 hour')

-- FILTER that is no condition [refused]
SELECT device, count(*) FILTER (WHERE n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- an ordinal that is not there [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY 7, window(ts, '2 hours', '1 hour')

-- an ordinal that is an aggregate [refused]
SELECT device, window, max(n) AS m FROM readings GROUP BY 3, window(ts, '2 hours', '1 hour')

-- a map compared with a number [refused]
SELECT device, tags = 1 AS t, max(n) AS m FROM readings GROUP BY device, tags, window(ts, '2 hours', '1 hour')

-- a cast that there is not [refused]
SELECT device, CAST(window AS INT) AS i, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- two commas [refused]
SELECT device,, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- no FROM [refused]
SELECT device, max(n) AS m GROUP BY device, window(ts, '2 hours', '1 hour')

-- HAVING before GROUP BY [refused]
SELECT device, max(n) AS m FROM readings HAVING max(n) > 1 GROUP BY device, window(ts, '2 hours', '1 hour')

-- an alias that is a reserved text [refused]
SELECT device, max(n) AS 'm' FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a bracket too many [refused]
SELECT device, max(n)) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a quote that is not closed [refused]
SELECT device, 'x AS m FROM readings GROUP BY device, window(ts, 2)
