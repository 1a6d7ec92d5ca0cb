-- Cached values, fill: stores what was loaded where the lease that it was loaded under still stands.
-- KEYS[1…n] the cached values
-- ARGV for each key three: ARGV[1] lease  [2] value  [3] life, s, and so on
-- Reply: for each key
--   FILLED
--   REFUSED  it was changed since, or somebody else filled it: what was loaded may be old
--@include run_id

local run_id = server_run_id()
local replies = {}
for i, key in ipairs(KEYS) do
  local lease, value, life = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
  if string.sub(lease, 2, 41) == run_id and redis.call('TYPE', key).ok == 'string' and redis.call('GET', key) == lease then
    redis.call('SET', key, 'V' .. run_id .. ':' .. value, 'EX', life)
    replies[i] = 'FILLED'
  else
    replies[i] = 'REFUSED'
  end
end
return replies
