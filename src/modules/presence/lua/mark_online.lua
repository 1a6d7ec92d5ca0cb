-- MarkOnline: a session of a user is there. Repeating it changes nothing but its expiry.
-- KEYS[1] state   KEYS[2] sessions   KEYS[3] session_info, of one user
-- ARGV[1] session id   [2] node id   [3] device, may be empty   [4] client's name, may be empty   [5] since, ms
-- ARGV[6] TTL, ms   [7] grace, ms
-- Replies: {"ANNOUNCE", version} others took him for offline  |  {"ONLINE", version} he was online for them
--@include sessions
local now = nowMs()
local was = isOnline(now, tonumber(ARGV[7])) and redis.call('HGET', KEYS[1], 'told') == 'online'
dropExpired(now)
local info = { node = ARGV[2], device = ARGV[3], ua = ARGV[4], since = tonumber(ARGV[5]) }
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[6]), ARGV[1])
redis.call('HSET', KEYS[3], ARGV[1], cjson.encode(info))
redis.call('HDEL', KEYS[1], 'offline_at')
redis.call('HSET', KEYS[1], 'last_active_at', now)
describe()
local version = tonumber(redis.call('HGET', KEYS[1], 'told_at') or '0')
if not was then
  version = nextVersion(now)
  redis.call('HSET', KEYS[1], 'told', 'online', 'told_at', version)
end
keepFor(ARGV[6])
return { was and 'ONLINE' or 'ANNOUNCE', version }
