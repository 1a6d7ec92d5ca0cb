-- Ends a node's lease at once. The entry stays, past its expiry, until what the node held is cleared.
-- KEYS[1] nodes (zset node -> lease expiry, Redis ms)
-- ARGV[1] node id
-- Reply: {"RETIRED"}
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], 'XX', time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
return { 'RETIRED' }
