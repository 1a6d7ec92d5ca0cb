-- Refresh: sessions of a user on one node go on. It never brings one back: what is not there has to be marked online again.
-- KEYS[1] state   KEYS[2] sessions   KEYS[3] session_info, of one user
-- ARGV[1] TTL, ms   [2] when the user last did something, ms, 0 = unknown   [3] and on: session ids
-- Replies: {"REFRESHED"}  |  {"LOST", session ids…} these are not known, or not whole
--@include sessions
local now = nowMs()
local state = redis.call('HMGET', KEYS[1], 'told', 'last_active_at')
local lost = { 'LOST' }
for index = 3, #ARGV do
  local session = ARGV[index]
  local expiry = tonumber(redis.call('ZSCORE', KEYS[2], session) or '0')
  if state[1] == 'online' and expiry > now and redis.call('HEXISTS', KEYS[3], session) == 1 then
    redis.call('ZADD', KEYS[2], 'XX', now + tonumber(ARGV[1]), session)
  else
    lost[#lost + 1] = session
  end
end
if #lost - 1 == #ARGV - 2 then return lost end
dropExpired(now)
redis.call('HSET', KEYS[1], 'session_count', redis.call('ZCARD', KEYS[2]))
local active = tonumber(ARGV[2])
if active > tonumber(state[2] or '0') then redis.call('HSET', KEYS[1], 'last_active_at', active) end
keepFor(ARGV[1])
if #lost > 1 then return lost end
return { 'REFRESHED' }
