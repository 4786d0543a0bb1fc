-- JSON of a key and an aggregate
SELECT to_json(struct(device, max(n) AS m)) AS j FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- JSON of the window
SELECT to_json(struct(device, window, count(*) AS c)) AS j FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a struct of the window
SELECT struct(window, device) AS s, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a struct of the window's bounds
SELECT struct(window.start, window.end, device AS d) AS s, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a struct of keys without names
SELECT struct(device, load) AS s, struct(max(n), device) AS t, struct(upper(device)) AS u FROM readings GROUP BY device, load, window(ts, '2 hours', '1 hour')

-- named_struct
SELECT named_struct('device', device, 'top', max(n), 'w', window) AS s FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a field of a struct that is made here
SELECT struct(device, max(n) AS m).m AS m, named_struct('a', device).a AS a, (struct(device)).device AS d FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- arrays and maps of answers
SELECT array(min(n), max(n)) AS a, map('device', device, 'state', 'x') AS m, map(coalesce(device, '-'), count(*)) AS c, array(min(n), max(n))[1] AS top FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a map of the key as JSON
SELECT to_json(map('device', device)) AS j, to_json(named_struct('w', window.start)) AS w, count(*) AS c FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- an array as a key
SELECT xs, window, max(n) AS m FROM readings GROUP BY xs, window(ts, '2 hours', '1 hour')

-- a map as a key
SELECT tags, window, max(n) AS m FROM readings GROUP BY tags, window(ts, '2 hours', '1 hour')

-- a value of a map as a key
SELECT tags['m'] AS t, window, max(n) AS m FROM readings GROUP BY tags['m'], window(ts, '2 hours', '1 hour')

-- a value of a map by a dot
SELECT tags.m, window, max(n) AS top FROM readings GROUP BY tags.m, window(ts, '2 hours', '1 hour')

-- an element of an array as a key
SELECT xs[0], window, max(n) AS m FROM readings GROUP BY xs[0], window(ts, '2 hours', '1 hour')

-- a struct as a key
SELECT payload, window, max(n) AS m FROM readings GROUP BY payload, window(ts, '2 hours', '1 hour')

-- fields of a struct that is a key
SELECT payload.dev, payload.site.code AS code, payload.site, window, max(n) AS m FROM readings GROUP BY payload, window(ts, '2 hours', '1 hour')

-- a field as a key
SELECT payload.dev, window, max(n) AS m FROM readings GROUP BY payload.dev, window(ts, '2 hours', '1 hour')

-- a field of a field as a key
SELECT payload.site.code, payload.site.name AS name, max(n) AS m FROM readings GROUP BY payload.site.code, payload.site.name, window(ts, '2 hours', '1 hour')

-- a field as a key, with its table
SELECT r.payload.dev AS d, upper(r.payload.dev) AS u, max(r.n) AS m FROM readings r GROUP BY r.payload.dev, window(r.ts, '2 hours', '1 hour') HAVING r.payload.dev = 'p1'

-- a field inside an aggregate
SELECT device, max(payload.site.code) AS c, min(payload.dev) AS d, count(tags['m']) AS t, sum(tags.m) AS s FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- a struct as a maximum
SELECT device, max(struct(n, load)) AS s, max(struct(n, load)).load AS l, min(payload) AS p FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- an array of structs with names
SELECT array(struct(device AS name, count(*) AS value)) AS a, inline_outer IS NULL AS b FROM (SELECT *, CAST(NULL AS INT) AS inline_outer FROM readings) GROUP BY device, inline_outer, window(ts, '2 hours', '1 hour')

-- a star in a struct [refused]
SELECT struct(window.*) AS s, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')

-- all fields of the window [refused]
SELECT window.*, max(n) AS m FROM readings GROUP BY device, window(ts, '2 hours', '1 hour')
