-- ordinals
SELECT device, window(ts, '2 hours', '1 hour'), max(n) AS m FROM readings GROUP BY 1, 2

-- ordinals of expressions
SELECT upper(device) AS u, n % 3 AS third, window(ts, '2 hours', '1 hour') AS w, count(*) AS c FROM readings GROUP BY 1, 2, 3

-- an ordinal beside a window
SELECT coalesce(device, 'none') AS device, max(n) AS m FROM readings GROUP BY 1, window(ts, '2 hours', '1 hour')

-- an ordinal whose alias is another column
SELECT load AS n, window, sum(n) AS load FROM readings GROUP BY 1, window(ts, '2 hours', '1 hour')

-- GROUP BY ALL [either]
SELECT device, window(ts, '2 hours', '1 hour') AS w, max(n) AS m FROM readings GROUP BY ALL

-- GROUP BY ALL with expressions [either]
SELECT upper(device) AS u, n % 2 = 0 AS even, window(ts, '2 hours', '1 hour').start AS since, count(*) AS c, sum(n) + 1 AS s FROM readings GROUP BY ALL

-- an alias as a key [either]
SELECT upper(device) AS u, window, max(n) AS m FROM readings GROUP BY u, window(ts, '2 hours', '1 hour')

-- an alias in another case [either]
SELECT n % 3 AS third, window, count(*) AS c FROM readings GROUP BY THIRD, window(ts, '2 hours', '1 hour')

-- an alias of the window [either]
SELECT device, window(ts, '2 hours', '1 hour') AS w, max(n) AS m FROM readings GROUP BY device, w

-- an alias that is also a column, which wins [either]
SELECT lower(device) AS load, window, count(*) AS c FROM readings GROUP BY device, load, window(ts, '2 hours', '1 hour')

-- an alias of the column itself
SELECT device AS device, window AS window, max(n) AS n FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- an alias that swaps two keys [either]
SELECT device AS state, state AS device, window, count(*) AS c FROM readings GROUP BY device, state, window(ts, '2 hours', '1 hour') HAVING count(*) > 0

-- a key that is not selected
SELECT window, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a key twice
SELECT device, device AS again, window, max(n) AS m FROM readings GROUP BY device, device, window(ts, '2 hours', '1 hour')

-- keys in brackets
SELECT device, load, window, max(n) AS m FROM readings GROUP BY (device), (load), window(ts, '2 hours', '1 hour')

-- a tuple of keys
SELECT window, max(n) AS m FROM readings GROUP BY (device, load), window(ts, '2 hours', '1 hour')

-- the window first
SELECT window, device, max(n) AS m FROM readings GROUP BY window(ts, '2 hours', '1 hour'), device

-- the window alone
SELECT window, count(*) AS c FROM readings GROUP BY window(ts, '2 hours', '1 hour')

-- a constant key
SELECT 'x' AS kind, device, window, count(*) AS c FROM readings GROUP BY 'x', device, window(ts, '2 hours', '1 hour')

-- all items without a name
SELECT device, upper(device), max(n), max(n) + 1, window, window.start, count(*), 1 FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')
