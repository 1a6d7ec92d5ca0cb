-- Is presence ready? In a Redis that knows nothing of it, it becomes so after a while; whoever asks first there begins that
-- time. The mark is lost with everything else, so that each loss begins it anew.
-- KEYS[1] presence:ready: "1", or when the waiting began (Redis ms)
-- ARGV[1] how long nodes have time to register, ms
-- Replies: {"READY"}  |  {"NOW_READY"} by this call  |  {"WAITING"}
local mark = redis.call('GET', KEYS[1])
if mark == '1' then return { 'READY' } end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local began = tonumber(mark or '')
if began and now - began >= tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], '1')
  return { 'NOW_READY' }
end
if not began then redis.call('SET', KEYS[1], string.format('%.0f', now)) end
return { 'WAITING' }
