-- Page: permission, head and, when it is complete, a whole page out of the hot set.
-- KEYS[1] last_seq   KEYS[2] inflight   KEYS[3] inflight:deadline   KEYS[4] hot_msgs   KEYS[5] hot_meta
-- KEYS[6] group access   KEYS[7] the reader's hides
-- ARGV[1] uid   ARGV[2] greatest age of a permission, ms   ARGV[3] "after" or "before"   ARGV[4] bound, exclusive; "" = newest
-- ARGV[5] most messages   ARGV[6] most bytes   ARGV[7] "1" = begin a hot set where there is none   ARGV[8] life of the set, s
-- ARGV[9] token for a lease to fill the hides   ARGV[10] life of that lease, s
-- ARGV[11] a number in flight that has less than this left, ms, sends the reader to MySQL
-- Replies:
--   NEEDS_ACCESS
--   NOT_MEMBER | DISMISSED | NO_GROUP
--   DOUBT floor doubt epoch                                              the counter says nothing; epoch "-1" when missing
--   HOT floor stableSeq lastSeq doubt epoch examined hasMore JSON…       ascending for "after", descending for "before"
--   COLD floor stableSeq lastSeq doubt epoch generation reason hides hidesToken   read MySQL; generation "" = do not fill
--     reason: off, open, gap, late, hides (not loaded), hidden (the reader deleted one of them)
--     hides: the reader's own deletions here are "none", "some", or "unknown" (load and fill them under hidesToken)
--@include doubt
--@include permission
--@include hot

local now = now_ms()
local permission = read_permission(KEYS[6], ARGV[1], now - tonumber(ARGV[2]))
if not permission then return { 'NEEDS_ACCESS' } end
local refusal = read_refusal(permission)
if refusal then return { refusal } end
local floor = permission.floor

local counter, doubt = read_counter(KEYS[1], KEYS[2], KEYS[3])
if doubt and doubt ~= 'expired' then
  return { 'DOUBT', text(floor), doubt, counter and text(counter.epoch) or '-1' }
end
local stable = stable_seq(counter, KEYS[2])

local run_id = server_run_id()
local generation, open = hot_state(KEYS[4], KEYS[5], run_id, now)
if generation == '' and ARGV[7] == '1' then generation = hot_begin(KEYS[5], run_id, ARGV[8]) end

-- The reader's own deletions.
local hides, hides_token = 'none', ''
if redis.call('SISMEMBER', KEYS[7], 'loaded:' .. run_id) == 0 then
  hides, hides_token = 'unknown', ARGV[9]
elseif redis.call('SCARD', KEYS[7]) > 1 then
  hides = 'some'
end

local function cold(reason)
  if hides == 'unknown' then
    -- Leases that were never used must not pile up.
    if redis.call('SCARD', KEYS[7]) > 16 then redis.call('DEL', KEYS[7]) end
    redis.call('SADD', KEYS[7], 'lease:' .. hides_token)
    redis.call('EXPIRE', KEYS[7], ARGV[10])
  end
  return {
    'COLD', text(floor), text(stable), text(counter.seq), doubt or '', text(counter.epoch),
    open and '' or generation, reason, hides, hides_token,
  }
end
if generation == '' then return cold('off') end
if open then return cold('open') end

-- Above stableSeq every number must have its copy here or be on its way, and that not for long: what was stored and not
-- settled (its node died, Redis was away) is in MySQL alone and must be shown all the same.
if counter.seq > stable then
  local oldest = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
  if not oldest[2] or tonumber(oldest[2]) - now < tonumber(ARGV[11]) then return cold('late') end
  local copies = redis.call('ZCOUNT', KEYS[4], '(' .. text(stable), '+inf')
  if copies + redis.call('ZCARD', KEYS[2]) ~= counter.seq - stable then return cold('gap') end
end

local limit, max_bytes = tonumber(ARGV[5]), tonumber(ARGV[6])
-- Holes take no place among the messages; this many of them may stand in one page.
local window = limit + 64
local jsons, seqs, bytes, has_more, examined = {}, {}, 0, false, nil

-- Takes the next member; false ends the page.
local function take(seq, member)
  local version, json = string.match(member, '^(%d+):(.*)$')
  if version ~= '0' then
    if #jsons == limit or (#jsons > 0 and bytes + #json > max_bytes) then
      has_more = true
      return false
    end
    bytes = bytes + #json
    jsons[#jsons + 1] = json
    seqs[#seqs + 1] = text(seq)
  end
  return true
end

if ARGV[3] == 'after' then
  examined = math.max(tonumber(ARGV[4]), floor)
  local rows = redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. text(examined), '+inf', 'WITHSCORES', 'LIMIT', 0, window)
  for i = 1, #rows, 2 do
    local seq = tonumber(rows[i + 1])
    if seq ~= examined + 1 and examined < stable then break end
    if not take(seq, rows[i]) then break end
    examined = seq
  end
  if not has_more then
    if #rows == 2 * window and examined == tonumber(rows[#rows]) then has_more = true
    elseif examined < stable then return cold('gap') end
  end
else
  local below = ARGV[4] ~= '' and tonumber(ARGV[4]) or nil
  local rows = redis.call('ZREVRANGEBYSCORE', KEYS[4], below and '(' .. text(below) or '+inf', '(' .. text(floor), 'WITHSCORES', 'LIMIT', 0, window)
  -- The seq that must come next; above stableSeq a number may still be in flight.
  local next_seq = math.min(below and below - 1 or stable, stable)
  for i = 1, #rows, 2 do
    local seq = tonumber(rows[i + 1])
    if seq < next_seq then return cold('gap') end
    if not take(seq, rows[i]) then break end
    next_seq = math.min(next_seq, seq - 1)
  end
  if not has_more then
    if #rows == 2 * window then has_more = true
    elseif next_seq > floor then return cold('gap') end
  end
  examined = seqs[1] and tonumber(seqs[1]) or 0
end

if hides == 'unknown' then return cold('hides') end
if hides == 'some' and #seqs > 0 then
  for _, hidden in ipairs(redis.call('SMISMEMBER', KEYS[7], unpack(seqs))) do
    if hidden == 1 then return cold('hidden') end
  end
end

local reply = {
  'HOT', text(floor), text(stable), text(counter.seq), doubt or '', text(counter.epoch), text(examined), has_more and '1' or '0',
}
for i, json in ipairs(jsons) do reply[8 + i] = json end
return reply
