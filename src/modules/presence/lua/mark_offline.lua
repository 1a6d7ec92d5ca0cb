-- MarkOffline: a session has ended. By session id, so that a late or repeated call takes no other session away.
-- KEYS[1] state   KEYS[2] sessions   KEYS[3] session_info, of one user
-- ARGV[1] session id
-- Replies: {"OTHERS"} other sessions live  |  {"LAST"} none does, and it has to be announced after the grace
--          {"OFFLINE"} none does, and that is known
--@include sessions
local now = nowMs()
dropExpired(now)
local removed = redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
local known = redis.call('EXISTS', KEYS[1]) == 1
if known and describe() > 0 then return { 'OTHERS' } end
if redis.call('ZCARD', KEYS[2]) > 0 then return { 'OTHERS' } end
if known and removed == 1 then redis.call('HSET', KEYS[1], 'offline_at', now, 'last_seen_at', now) end
if removed == 1 or redis.call('HGET', KEYS[1], 'told') == 'online' then return { 'LAST' } end
return { 'OFFLINE' }
