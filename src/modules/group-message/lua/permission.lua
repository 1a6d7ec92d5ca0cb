-- Shared: what a user may do in a group, by the record that the group module keeps (group.redis.ts says how it is written).
-- Returns nil when the record has to be loaded first: not there, too old, or filled on another Redis server (whose
-- invalidations may be missing here).
local function read_permission(access_key, uid, oldest_ms)
  local fields = redis.call('HMGET', access_key, uid, '#')
  if not fields[1] or not fields[2] then return nil end
  local role, muted_until, acl, floor, loaded = string.match(fields[1], '^([^|]*)|([^|]*)|([^|]*)|([^|]*)|([^|]*)$')
  local state, mute_all, group_acl, group_loaded, run_id = string.match(fields[2], '^([^|]*)|([^|]*)|([^|]*)|([^|]*)|([^|]*)$')
  if not role or not state or run_id ~= server_run_id() then return nil end
  if tonumber(loaded) < oldest_ms or tonumber(group_loaded) < oldest_ms then return nil end
  return {
    role = role, muted_until = tonumber(muted_until), floor = tonumber(floor), state = state,
    mute_all = mute_all == '1', acl = math.min(tonumber(acl), tonumber(group_acl)),
  }
end

-- Why a user may not read, or nil.
local function read_refusal(permission)
  if permission.state == 'missing' then return 'NO_GROUP' end
  if permission.role == '-' then return 'NOT_MEMBER' end
  if permission.state == 'dismissed' then return 'DISMISSED' end
  return nil
end
