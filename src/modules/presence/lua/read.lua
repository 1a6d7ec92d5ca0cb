-- Read: what others may know of a user now.
-- KEYS[1] state   KEYS[2] sessions   KEYS[3] session_info, of one user
-- ARGV[1] grace, ms
-- Reply: { "online" or "offline", version, last seen ms or "", session_info of each live session… }
-- The version is the told change that this agrees with, or the present when nobody was told yet.
--@include sessions
local now = nowMs()
local state = isOnline(now, tonumber(ARGV[1])) and 'online' or 'offline'
local told = redis.call('HMGET', KEYS[1], 'told', 'told_at', 'last_seen_at')
local version = now
if told[1] == state then version = tonumber(told[2]) end
local reply = { state, version, told[3] or '' }
local live = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. string.format('%.0f', now), '+inf', 'LIMIT', 0, 20)
for _, session in ipairs(live) do
  local info = redis.call('HGET', KEYS[3], session)
  if info then reply[#reply + 1] = info end
end
return reply
