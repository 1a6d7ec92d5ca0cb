-- Renews a node's entry in the list of living nodes.
-- KEYS[1] nodes (zset node -> lease expiry, Redis ms)
-- ARGV[1] node id   ARGV[2] lease, ms   ARGV[3] first: 1 when this id was never registered, else 0
-- Replies: {"RENEWED"}  |  {"LOST"} the lease had ended: whoever asked meanwhile took this node for dead; nothing is written,
-- the entry stays for the reaper
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expiry = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]))
if ARGV[3] == '0' and (not expiry or expiry <= now) then return { 'LOST' } end
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
-- Nodes that ended a day ago are of no interest to anybody any more.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 86400000)
return { 'RENEWED' }
