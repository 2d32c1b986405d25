import { mkdir, readFile, readdir, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { newFolder } from '../../helpers/cleanup.ts'
import { until } from '../../helpers/until.ts'
import { recordingLog } from '../../helpers/fakes.ts'
import type { SceneRevision } from '../../../src/server/resources/scene/state.ts'
import {
  createInstanceRecord,
  InstanceFile,
  sceneTimePatch,
} from '../../../src/server/host/instance-record.ts'

const id = '0f0e0d0c-1111-4222-8333-444455556666'
const record = createInstanceRecord({
  instance_id: id,
  dcc_type: 'blender',
  mcp_url: 'http://127.0.0.1:8765/mcp',
  host_url: 'http://127.0.0.1:8765/host',
  host_token_file: null,
  version: '0.1.0',
})

describe('sceneTimePatch', () => {
  const setAtMs = Date.parse('2026-01-01T00:00:00.000Z')
  const at = (ms: number) => new Date(setAtMs + ms).toISOString()
  const patch = (before: string | null, laterMs = 0, setBy: string | null = null) => {
    const current = { hasScene: true, setAtMs: setAtMs + laterMs } as SceneRevision
    return sceneTimePatch({ current, setBy }, { scene_set_at: before })
  }

  it('says when a scene was set, and again when a minute has passed', () => {
    expect(patch(null)).to.deep.equal({ scene_set_at: at(0) })
    expect(patch(at(0))).to.equal(null)
    expect(patch(at(0), 59_999)).to.equal(null)
    expect(patch(at(0), 60_000)).to.deep.equal({ scene_set_at: at(60_000) })
    expect(patch(at(120_000))).to.deep.equal({ scene_set_at: at(0) })
  })

  it('says nothing of a scene that an application set, nor of none', () => {
    expect(patch(null, 0, 'run-1')).to.equal(null)
    expect(patch(at(0), 0, 'run-1')).to.deep.equal({ scene_set_at: null })
    const none = { current: { hasScene: false, setAtMs } as SceneRevision, setBy: null }
    expect(sceneTimePatch(none, { scene_set_at: at(0) })).to.deep.equal({ scene_set_at: null })
    expect(sceneTimePatch(none, { scene_set_at: null })).to.equal(null)
  })
})

describe('InstanceFile', () => {
  let base: string
  let file: InstanceFile
  let log: ReturnType<typeof recordingLog>
  const open = (heartbeatMs = 1_000_000, instancesDir = base) =>
    InstanceFile.create({ instancesDir, heartbeatMs, record, log })

  beforeEach(async () => {
    log = recordingLog()
    base = newFolder()
    file = await open()
  })
  afterEach(() => file.remove())

  const onDisk = async () => JSON.parse(await readFile(join(base, `${id}.json`), 'utf8'))

  it('writes the record for this user alone and leaves no temporary file', async () => {
    expect(await onDisk()).to.deep.equal(record)
    expect(await readdir(base)).to.deep.equal([`${id}.json`])
    if (process.getuid !== undefined) expect((await stat(file.path)).mode & 0o777).to.equal(0o600)
  })

  it('rewrites the changed members, also many changes at once', async () => {
    const host = { connected: true, app_pid: 7, version: '4.2', mode: 'gui' }
    await file.update({ host, dcc_type: 'maya' })
    expect(await onDisk()).to.deep.equal({ ...record, host, dcc_type: 'maya' })
    await Promise.all(Array.from({ length: 50 }, (_, i) => file.update({ scene: `s${i}` })))
    expect((await onDisk()).scene).to.equal('s49')
    expect(file.record.scene).to.equal('s49')
  })

  it('touches the file at each beat without rewriting it', async () => {
    await file.remove()
    file = await open(5)
    const { ino } = await stat(file.path)
    await utimes(file.path, 1000, 1000)
    const isYoung = async () => Date.now() - (await stat(file.path)).mtimeMs < 60_000
    await until(isYoung, 'a beat')
    expect((await stat(file.path)).ino).to.equal(ino)
  })

  it('touches the token of the run at each beat', async () => {
    const path = join(base, `${id}.token`)
    await writeFile(path, 'the-token-of-this-run')
    await utimes(path, 1000, 1000)
    await file.beat()
    expect(Date.now() - (await stat(path)).mtimeMs).to.be.below(60_000)
  })

  it('goes on when the folder cannot be written, says so once, and recovers', async () => {
    await file.remove()
    const later = join(base, 'later')
    file = await open(1_000_000, later)
    await file.update({ scene: 'a' })
    await file.beat()
    const said = log.lines.filter(({ text }) => text.includes('cannot be written'))
    expect(said).to.have.length(1)
    await mkdir(later)
    await file.update({ scene: 'b' })
    expect(JSON.parse(await readFile(file.path, 'utf8')).scene).to.equal('b')
  })

  it('removes the record and the token of this run, and nothing comes back', async () => {
    await writeFile(join(base, `${id}.token`), 't')
    await writeFile(join(base, 'other.token'), 't')
    const before = file.update({ scene: 'late' })
    await file.remove()
    await Promise.all([before, file.beat(), file.update({ scene: 'later' })])
    expect(await readdir(base)).to.deep.equal(['other.token'])
  })
})
