-- Captcha, release: a code is not in force any more (or never was); the next one need not wait for it.
-- KEYS[1] active  KEYS[2] quota of the phone
-- ARGV[1] id  [2] address to give one use back to, empty when it counts all the same
-- Reply: 1 when the key was this code's, else 0 (a newer one is in force; it stays)
if ARGV[2] ~= '' then
  for _, field in ipairs({ 'n', 'a:' .. ARGV[2] }) do
    if tonumber(redis.call('HGET', KEYS[2], field) or '0') > 0 then redis.call('HINCRBY', KEYS[2], field, -1) end
  end
end
local active = redis.call('GET', KEYS[1])
if active and active:match('^([^|]*)|') == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
