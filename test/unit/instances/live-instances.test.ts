import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { chmod, mkdir, readdir, rename, symlink, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  findNextRun,
  liveInstances,
  localUrlOf,
} from '../../../src/lib/instances/live-instances.ts'
import type { InstanceRecord } from '../../../src/lib/instances/record.ts'
import { selectInstances } from '../../../src/lib/instances/select-instance.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { processStart } from '../../../src/lib/instances/process.ts'
import { newFolder } from '../../helpers/cleanup.ts'
import { skipBecause } from '../../helpers/skip.ts'

const record: InstanceRecord = {
  schema_version: 1,
  instance_id: '3f2a91c0-0000-4000-8000-000000000001',
  dcc_type: 'blender',
  display_name: 'blender on here',
  pid: process.pid,
  pid_start: null,
  hostname: hostname(),
  mcp_url: 'http://127.0.0.1:8765/mcp',
  host_url: 'http://127.0.0.1:8765/host',
  host_token_file: null,
  version: '0.1.0',
  host: { connected: false, app_pid: null, version: null, mode: null },
  scene: '/shots/a.blend',
  scene_set_at: null,
  status: 'available',
  started_at: '2026-01-01T00:00:00.000Z',
  metadata: {},
}

function instance(more: Partial<InstanceRecord>): InstanceRecord {
  return { ...record, scene: null, ...more }
}

describe('the address of an instance for this machine', () => {
  const urls: [mcp: string, host: string, url: string][] = [
    ['https://studio.example/x/mcp', 'http://127.0.0.1:5/host', 'http://127.0.0.1:5/mcp'],
    ['http://10.0.0.7:5/mcp', 'http://10.0.0.7:5/host', 'http://10.0.0.7:5/mcp'],
    ['https://studio.example/mcp', '', 'https://studio.example/mcp'],
  ]
  for (const [mcp_url, host_url, url] of urls) {
    it(`is ${url} for ${mcp_url} of ${host_url}`, () => {
      expect(localUrlOf(instance({ mcp_url, host_url })).href).to.equal(url)
    })
  }
})

describe('liveInstances', () => {
  let dir: string
  beforeEach(async () => {
    dir = newFolder()
    await mkdir(join(dir, 'instances'), { mode: 0o700 })
  })

  /** By id. */
  const names = new Map<string, string>()
  async function write(name: string, more: object = {}, ageMs = 0): Promise<void> {
    const id = randomUUID()
    names.set(id, name)
    const path = join(dir, 'instances', `${id}.json`)
    await writeFile(path, JSON.stringify({ ...record, instance_id: id, ...more }))
    const at = new Date(Date.now() - ageMs)
    await utimes(path, at, at)
  }

  const live = async () => {
    const found = await liveInstances(dir, silentLogger)
    return found.map(({ instance_id: id }) => names.get(id))
  }

  it('are none without a folder, and those that run, oldest first', async () => {
    expect(await live()).to.deep.equal([])
    await write('young', { started_at: '2026-03-01T00:00:00Z' })
    await write('old')
    expect(await live()).to.deep.equal(['old', 'young'])
  })

  const dead: [what: string, more: object, ageMs?: number][] = [
    ['whose process ended', { pid: 2 ** 22 + 5 }],
    ['whose process id is another process by now', { pid_start: 'another:1' }],
    ['that nobody has touched for long', {}, 31_000],
    ['of another machine', { hostname: 'elsewhere' }],
  ]
  for (const [what, more, ageMs] of dead) {
    it(`are none ${what}`, async function () {
      if ('pid_start' in more && processStart(process.pid) === null) {
        skipBecause(this, 'this system tells no start of a process')
      }
      await write('dead', more, ageMs)
      await write('good')
      expect(await live()).to.deep.equal(['good'])
    })
  }

  it('are none of what is no record', async () => {
    const instances = join(dir, 'instances')
    await writeFile(join(instances, 'half.json'), '{"dcc_type":')
    await writeFile(join(instances, 'list.json'), '[]')
    await write('large', { metadata: { text: 'x'.repeat(70_000) } })
    await mkdir(join(instances, 'folder.json'))
    await write('good')
    expect(await live()).to.deep.equal(['good'])
  })

  it('are none in a folder that others can change', async function () {
    if (process.getuid === undefined) skipBecause(this, 'this system has no user ids')
    await write('good')
    const folder = join(dir, 'instances')
    await chmod(folder, 0o770)
    expect(await live()).to.deep.equal([])
    await chmod(folder, 0o700)
    expect(await live()).to.deep.equal(['good'])
  })

  it('are none behind a symbolic link', async function () {
    if (process.getuid === undefined) skipBecause(this, 'this system has no user ids')
    await write('good')
    const instances = join(dir, 'instances')
    const [name = ''] = await readdir(instances)
    await rename(join(instances, name), join(dir, name))
    await symlink(join(dir, name), join(instances, name))
    expect(await live()).to.deep.equal([])
  })
})

describe('selectInstances', () => {
  const a = instance({ instance_id: 'abcd1234-0000-4000-8000-000000000001' })
  const b = instance({ instance_id: 'abcd5678-0000-4000-8000-000000000002' })
  const mayaId = 'fade0000-0000-4000-8000-000000000003'
  const maya = instance({ instance_id: mayaId, dcc_type: 'maya' })
  const all = [a, b, maya]
  const fade = instance({ dcc_type: 'fade' })
  const table: [word: string | undefined, among: InstanceRecord[], selected: InstanceRecord[]][] = [
    [undefined, [], []],
    [undefined, [a], [a]],
    [undefined, [a, b], [a, b]],
    [a.instance_id.replaceAll('-', '').toUpperCase(), all, [a]],
    ['abcd1234-00', all, [a]],
    ['abcd', all, [a, b]],
    ['abc', all, []],
    ['fade', all, [maya]],
    ['Maya', all, [maya]],
    ['blender', all, [a, b]],
    ['houdini', all, []],
    // A kind that is also the beginning of an id is both.
    ['fade', [maya, fade], [maya, fade]],
  ]
  for (const [word, among, selected] of table) {
    it(`of ${word} among ${among.length} is ${selected.map(each => each.instance_id)}`, () => {
      expect(selectInstances(among, word)).to.deep.equal(selected)
    })
  }
})

describe('findNextRun', () => {
  const lostMs = 100_000
  const startedAt = (ms: number) => ({ started_at: new Date(ms).toISOString() })
  const previous = instance({ instance_id: 'first', ...startedAt(5000) })
  const next = instance({ instance_id: 'next', ...startedAt(lostMs + 50) })
  const table: [what: string, among: InstanceRecord[], id: string | undefined][] = [
    ['the same one', [previous, next], 'first'],
    ['what started since', [next], 'next'],
    ['what started shortly before', [{ ...next, ...startedAt(lostMs - 9000) }], 'next'],
    ['not what ran beside it', [{ ...next, ...startedAt(lostMs - 11_000) }], undefined],
    ['not another kind', [{ ...next, dcc_type: 'maya' }], undefined],
    ['not what has no kind yet', [{ ...next, dcc_type: 'unknown' }], undefined],
    [
      'of two the one of the same name',
      [next, { ...next, instance_id: 'x', display_name: 'x' }],
      'next',
    ],
    ['neither of two alike', [next, { ...next, instance_id: 'x' }], undefined],
  ]
  for (const [what, among, id] of table) {
    it(`is ${what}`, () => expect(findNextRun(among, previous, lostMs)?.instance_id).to.equal(id))
  }

  it('is of any kind when the kind was not known', () => {
    const unknown = { ...previous, dcc_type: 'unknown' }
    expect(findNextRun([next], unknown, lostMs)?.instance_id).to.equal('next')
  })
})
