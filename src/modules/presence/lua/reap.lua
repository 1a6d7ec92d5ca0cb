-- Reap: the sessions that a dead node held for a user end. A session that has moved to another node is left alone.
-- KEYS[1] state   KEYS[2] sessions   KEYS[3] session_info, of one user
-- ARGV[1] dead node   [2] when it was last known to live, ms   [3] grace, ms   [4] TTL of what is left, ms
-- Replies: {"ONLINE"} another session lives  |  {"GRACE", ms left} the node had seen him leave just before it ended
--          {"ANNOUNCE", version, last seen ms or 0} now told  |  {"OFFLINE", version, last seen ms or 0} told before
--@include sessions
local now = nowMs()
dropExpired(now)
local removed = 0
for _, session in ipairs(redis.call('ZRANGE', KEYS[2], 0, 999)) do
  local info = redis.call('HGET', KEYS[3], session)
  if not info or cjson.decode(info).node == ARGV[1] then
    removed = removed + redis.call('ZREM', KEYS[2], session)
    redis.call('HDEL', KEYS[3], session)
  end
end
if removed > 0 and redis.call('EXISTS', KEYS[1]) == 1 then
  local active = tonumber(redis.call('HGET', KEYS[1], 'last_active_at') or '0')
  if describe() == 0 then redis.call('HSET', KEYS[1], 'last_seen_at', math.max(active, tonumber(ARGV[2]))) end
end
return settleOffline(now, tonumber(ARGV[3]), ARGV[4])
