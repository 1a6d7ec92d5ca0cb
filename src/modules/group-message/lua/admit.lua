-- Admit: lets sends of one topic in, in the order in which they come. For each it answers a finished claim, checks permission
-- and the counter, claims the client id and gives the number.
-- KEYS[1] last_seq   KEYS[2] inflight   KEYS[3] inflight:deadline   KEYS[4] group access   KEYS[5] hot_meta
-- KEYS[6…] claim (uniq:msg) of each send
-- ARGV[1] in-flight deadline, ms   ARGV[2] life of a pending claim, s   ARGV[3] greatest age of a permission, ms
-- then for each send: sender uid; owner, token of the attempt; "digest|createdAt" (hex, ISO 8601)
-- Reply: first "epoch|hotGeneration", epoch "-1" when there is no counter; then for each send one of
--   DONE|seq|messageId|createdAt        stored before; nothing was changed
--   NEEDS_ACCESS                        the permission is not cached or too old: load it and admit again
--   NOT_MEMBER, MUTED|untilMs, DISMISSED or NO_GROUP
--   NEEDS_REBASE|doubt
--   CONFLICT                            the client id belongs to another body
--   PENDING|seq                         another attempt of the same message is under way
--   ADMITTED|seq|aclVersion|takenOver   takenOver "1": an earlier attempt was abandoned
--@include doubt
--@include permission
--@include claim

local now = now_ms()
local deadline, oldest = text(now + tonumber(ARGV[1])), now - tonumber(ARGV[3])
local sends = #KEYS - 5
local stored = redis.call('MGET', unpack(KEYS, 6))
local senders = {}
for i = 1, sends do senders[i] = ARGV[3 * i + 1] end
local permissions = read_permissions(KEYS[4], senders, oldest)
local counter, doubt = read_counter(KEYS[1], KEYS[2], KEYS[3])
local epoch = counter and text(counter.epoch) or '-1'
local seq = counter and counter.seq
-- What this call gives out, written at its end.
local numbers, deadlines, given = {}, {}, 0
-- Claims of this call by key: two sends of one id in one call must see each other.
local claims = {}

local function admit(key, stored_claim, uid, owner, body)
  local claim = read_claim(claims[key] or stored_claim)
  local same = claim and string.sub(body, 1, #claim.digest + 1) == claim.digest .. '|'
  -- 1. A finished claim is answered at once: the sender may have been muted since, his message is stored all the same.
  if same and claim.status == 'done' then
    return 'DONE|' .. claim.seq .. '|' .. claim.message_id .. '|' .. claim.created_at
  end

  -- 2. Permission.
  local permission = permissions[uid]
  if not permission then return 'NEEDS_ACCESS' end
  local refusal = read_refusal(permission)
  if refusal then return refusal end
  if permission.role ~= 'owner' and permission.muted_until > now then return 'MUTED|' .. text(permission.muted_until) end
  if permission.role == 'member' and permission.mute_all then return 'MUTED|0' end

  -- 3. The counter.
  if doubt then return 'NEEDS_REBASE|' .. doubt end

  -- 4. The claim. An expired deadline was a doubt above, so an entry in flight belongs to an attempt that may still succeed.
  local taken_over = '0'
  if claim then
    local alive = claim.status == 'pending' and claim.owner ~= owner and claim.epoch == epoch
      and (claims[key] or redis.call('ZSCORE', KEYS[2], claim.seq))
    if (alive or claim.status == 'done') and not same then return 'CONFLICT' end
    if alive then return 'PENDING|' .. claim.seq end
    if claim.owner ~= owner then taken_over = '1' end
  end

  -- 5. The number.
  seq, given = seq + 1, given + 1
  local number = text(seq)
  numbers[2 * given - 1], numbers[2 * given] = number, number
  deadlines[2 * given - 1], deadlines[2 * given] = deadline, number
  local value = 'pending|' .. owner .. '|' .. number .. '|' .. epoch .. '||' .. body
  claims[key] = value
  redis.call('SET', key, value, 'EX', ARGV[2])
  return 'ADMITTED|' .. number .. '|' .. text(permission.acl) .. '|' .. taken_over
end

local replies = { epoch .. '|' .. (redis.call('HGET', KEYS[5], 'generation') or '') }
for i = 1, sends do
  replies[i + 1] = admit(KEYS[i + 5], stored[i], ARGV[3 * i + 1], ARGV[3 * i + 2], ARGV[3 * i + 3])
end
if given > 0 then
  redis.call('HSET', KEYS[1], 'seq', text(seq), 'entries', text(counter.entries + given))
  redis.call('ZADD', KEYS[2], unpack(numbers))
  redis.call('ZADD', KEYS[3], unpack(deadlines))
end
return replies
