-- Captcha, claim: inside the resend window answers from the active key; else counts one code against the phone and
-- reserves the key, so that of any number of calls at once one sends.
-- KEYS[1] active  KEYS[2] quota of the phone (hash: n = all, a:<asker> = of one address)
-- ARGV[1] new id  [2] client  [3] address  [4] life of a code, ms  [5] resend window, ms
-- ARGV[6] most codes  [7] most of one address  [8] window of both, ms
-- Replies: { 'CLAIMED' }  |  { 'ACTIVE', id, ms until another may be sent, ms of life left }
--   |  { 'WAIT', ms }: inside the window, and asked by somebody else  |  { 'LIMITED', ms until the quota begins anew }
local active = redis.call('GET', KEYS[1])
local life = redis.call('PTTL', KEYS[1])
local window = life - (tonumber(ARGV[4]) - tonumber(ARGV[5]))
if active and window > 0 then
  local id, client, address = active:match('^([^|]*)|([^|]*)|([^|]*)$')
  -- Nobody else learns the id: with it he could burn the code.
  if client == ARGV[2] or address == ARGV[3] then return { 'ACTIVE', id, window, life } end
  return { 'WAIT', window }
end

local left = redis.call('PTTL', KEYS[2])
-- A counter without an end (left over from elsewhere) would lock the phone for ever.
if left == -1 then redis.call('DEL', KEYS[2]) end
local field = 'a:' .. ARGV[3]
local all = tonumber(redis.call('HGET', KEYS[2], 'n') or '0')
local own = tonumber(redis.call('HGET', KEYS[2], field) or '0')
if all >= tonumber(ARGV[6]) or own >= tonumber(ARGV[7]) then return { 'LIMITED', left } end
redis.call('HINCRBY', KEYS[2], 'n', 1)
redis.call('HINCRBY', KEYS[2], field, 1)
if left < 0 then redis.call('PEXPIRE', KEYS[2], ARGV[8]) end
redis.call('SET', KEYS[1], ARGV[1] .. '|' .. ARGV[2] .. '|' .. ARGV[3], 'PX', ARGV[4])
return { 'CLAIMED' }
