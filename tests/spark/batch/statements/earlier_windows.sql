-- a column called window, not used [either]
SELECT device, max(top) AS m, count(*) AS c FROM minutes GROUP BY device, window(ts, '2 hours', '1 hour')

-- the earlier window as the time [either]
SELECT device, window(window, '2 hours') AS w, max(top) AS m FROM minutes GROUP BY device, window(window, '2 hours')

-- the start of the earlier window as the time [either]
SELECT device, max(top) AS m FROM minutes GROUP BY device, window(window.start, '2 hours', '1 hour')

-- the earlier window with its table as the time [either]
SELECT m.device, sum(m.top) AS s FROM minutes m GROUP BY m.device, window(m.window.start, '2 hours', '1 hour')

-- the earlier window as a key [either]
SELECT t.window, max(t.top) AS m FROM minutes t GROUP BY t.window, window(t.ts, '2 hours', '1 hour')

-- the start of the earlier window as a key [either]
SELECT t.window.start AS since, count(*) AS c FROM minutes AS t GROUP BY t.window.start, window(t.ts, '2 hours', '1 hour')

-- the earlier window under another name as a key [either]
SELECT w, window, count(*) AS c FROM (SELECT window AS w, ts FROM minutes) GROUP BY w, window(ts, '2 hours', '1 hour')

-- the start of a renamed window as the time [either]
SELECT device, window, max(top) AS m FROM (SELECT window.start AS at, device, top FROM minutes) GROUP BY device, window(at, '2 hours', '1 hour')

-- both windows in HAVING [either]
SELECT device, count(*) AS c FROM minutes t GROUP BY device, t.window, window(t.ts, '2 hours', '1 hour') HAVING t.window.start > '2024-03-10'

-- the earlier window inside an aggregate [either]
SELECT device, max(t.window.end) AS latest, min(t.window) AS first FROM minutes t GROUP BY device, window(t.ts, '2 hours', '1 hour')

-- a filter on the earlier window [either]
SELECT device, count(*) AS c FROM minutes t WHERE t.window.start > '2024-03-10 02:00:00' GROUP BY device, window(t.ts, '2 hours', '1 hour')

-- the name window, which means the column [refused]
SELECT device, window, count(*) AS c FROM minutes GROUP BY device, window(ts, '2 hours', '1 hour')
