-- The nodes whose lease has not ended, by this server's clock.
-- KEYS[1] nodes (zset node -> lease expiry, Redis ms)
-- ARGV[1] lease, ms
-- Reply: { "1" when the list is complete, else "0", node ids… }
-- A server that has just started may have lost its data: every living node registers again within one lease.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local uptime = tonumber(string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)') or '0')
local nodes = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now), '+inf')
table.insert(nodes, 1, uptime * 1000 > tonumber(ARGV[1]) and '1' or '0')
return nodes
