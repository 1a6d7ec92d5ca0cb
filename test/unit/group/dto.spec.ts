import { validateDto } from '../../../src/platform/http/validation.js';
import {
  AddMembersDto,
  CreateGroupDto,
  PatchGroupDto,
  PatchGroupSettingsDto,
  PatchMemberDto,
  TransferGroupDto,
} from '../../../src/modules/group/dto/group.dto.js';
import { MembersQuery } from '../../../src/modules/group/dto/members-query.dto.js';

const refused = { code: 'VALIDATION_FAILED' };

describe('bodies', () => {
  it.each([
    [CreateGroupDto, { name: 'A' }],
    [CreateGroupDto, { name: '👪'.repeat(128), intro: 'two\nlines', memberUids: ['1', '9007199254740993'] }],
    [AddMembersDto, { uids: Array.from({ length: 1000 }, (_, index) => String(index + 1)) }],
    [PatchMemberDto, { mutedUntil: null }],
    [PatchMemberDto, { mutedUntil: '2027-02-28T23:59:59.999Z', nickname: '', role: 'admin' }],
    [PatchGroupSettingsDto, { muteAll: true, whoMayInvite: 'members' }],
    [TransferGroupDto, { uid: '2' }],
  ])('%p takes %j', async (dto, body) => {
    await expect(validateDto<object>(dto, body)).resolves.toMatchObject(body);
  });

  it.each([
    [CreateGroupDto, {}],
    [CreateGroupDto, { name: '' }],
    [CreateGroupDto, { name: '  ' }],
    [CreateGroupDto, { name: 'x'.repeat(129) }],
    [CreateGroupDto, { name: 'a\nb' }],
    [CreateGroupDto, { name: 'a\ud800' }],
    [CreateGroupDto, { name: 'a', intro: 'a\u0000b' }],
    [CreateGroupDto, { name: 'a', avatar: null }],
    [CreateGroupDto, { name: 'a', avatar: 'javascript:alert(1)' }],
    [PatchGroupDto, { avatar: 'data:text/html,x' }],
    [CreateGroupDto, { name: 'a', type: 'room' }],
    [CreateGroupDto, { name: 'a', memberUids: '1' }],
    [CreateGroupDto, { name: 'a', memberUids: [1] }],
    [CreateGroupDto, { name: 'a', memberUids: ['0'] }],
    [CreateGroupDto, { name: 'a', memberUids: [null] }],
    [AddMembersDto, {}],
    [AddMembersDto, { uids: [] }],
    [AddMembersDto, { uids: {} }],
    [AddMembersDto, { uids: [{ not: 1 }] }],
    [AddMembersDto, { uids: ['9223372036854775808'] }],
    [AddMembersDto, { uids: Array.from({ length: 1001 }, (_, index) => String(index + 1)) }],
    [PatchMemberDto, { role: 'owner' }],
    [PatchMemberDto, { role: null }],
    [PatchMemberDto, { mutedUntil: 0 }],
    [PatchMemberDto, { mutedUntil: '2027-02-30T00:00:00Z' }],
    [PatchMemberDto, { mutedUntil: '2027-02-28 00:00:00' }],
    [PatchMemberDto, { mutedUntil: '2027-02-28T00:00:00+02:00' }],
    [PatchGroupSettingsDto, { muteAll: 1 }],
    [PatchGroupSettingsDto, { muteAll: null }],
    [PatchGroupSettingsDto, { whoMayInvite: 'nobody' }],
    [TransferGroupDto, { uid: 2 }],
    [TransferGroupDto, { uid: '02' }],
  ])('%p refuses %j', async (dto, body) => {
    await expect(validateDto<object>(dto, body)).rejects.toMatchObject(refused);
  });
});

describe('the member query', () => {
  it('has a limit of 50 by itself and takes what a URL gives', async () => {
    await expect(validateDto(MembersQuery, {})).resolves.toMatchObject({ limit: 50 });
    await expect(validateDto(MembersQuery, { limit: '200', role: 'admin', q: 'A' })).resolves.toMatchObject({
      limit: 200,
    });
  });

  it.each([
    { limit: '0' },
    { limit: '201' },
    { limit: '1e2' },
    { limit: ['1', '2'] },
    { limit: '' },
    { role: 'boss' },
    { role: ['owner', 'admin'] },
    { status: 'kicked' },
    { q: '' },
    { q: { a: '1' } },
    { cursor: ['a'] },
    { cursor: 'a'.repeat(201) },
    { page: '2' },
  ])('refuses %j', async (query) => {
    await expect(validateDto(MembersQuery, query)).rejects.toMatchObject(refused);
  });
});
