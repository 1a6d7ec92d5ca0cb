-- Shared: what users may do in a group, by the records that the group module keeps (group.redis.ts says how they are written).
-- Returns permissions by uid, in one read; one is missing when it has to be loaded first: not there, too old, or filled on
-- another Redis server (whose invalidations may be missing here).
local function read_permissions(access_key, uids, oldest_ms)
  local found, asked = {}, { '#' }
  for _, uid in ipairs(uids) do
    if found[uid] == nil then
      found[uid] = false
      asked[#asked + 1] = uid
    end
  end
  local fields = redis.call('HMGET', access_key, unpack(asked))
  if not fields[1] then return found end
  local state, mute_all, group_acl, group_loaded, run_id = string.match(fields[1], '^([^|]*)|([^|]*)|([^|]*)|([^|]*)|([^|]*)$')
  if not state or run_id ~= server_run_id() or tonumber(group_loaded) < oldest_ms then return found end
  mute_all, group_acl = mute_all == '1', tonumber(group_acl)
  for i = 2, #asked do
    local field = fields[i]
    local role, muted_until, acl, floor, loaded
    if field then role, muted_until, acl, floor, loaded = string.match(field, '^([^|]*)|([^|]*)|([^|]*)|([^|]*)|([^|]*)$') end
    if role and tonumber(loaded) >= oldest_ms then
      found[asked[i]] = {
        role = role, muted_until = tonumber(muted_until), floor = tonumber(floor), state = state,
        mute_all = mute_all, acl = math.min(tonumber(acl), group_acl),
      }
    end
  end
  return found
end

-- Why a user may not read, or nil.
local function read_refusal(permission)
  if permission.state == 'missing' then return 'NO_GROUP' end
  if permission.role == '-' then return 'NOT_MEMBER' end
  if permission.state == 'dismissed' then return 'DISMISSED' end
  return nil
end
