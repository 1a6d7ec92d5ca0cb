-- SettleOffline: after the grace, is the user offline? Whoever asks first has to announce it.
-- KEYS[1] state   KEYS[2] sessions   KEYS[3] session_info, of one user
-- ARGV[1] grace, ms   [2] TTL of what is left, ms
-- Replies: {"ONLINE"} a session lives  |  {"GRACE", ms left}
--          {"ANNOUNCE", version, last seen ms or 0} now told  |  {"OFFLINE", version, last seen ms or 0} told before
--@include sessions
local now = nowMs()
dropExpired(now)
return settleOffline(now, tonumber(ARGV[1]), ARGV[2])
