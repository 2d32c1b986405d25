import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { monotonicClock, systemClock, systemTimer } from '../../../src/lib/util/time.ts'
import { recordFile } from '../../../src/lib/instances/files.ts'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { openFsDirectory } from '../../../src/server/gateway/fs-directory.ts'
import type { InstanceDirectory } from '../../../src/server/gateway/instance-directory.ts'
import { defaultPublicLimits } from '../../../src/lib/config/limits.ts'
import { type GatewayLimits, resolveGatewayLimits } from '../../../src/lib/config/gateway-limits.ts'
import { until } from '../../helpers/until.ts'
import { makeRecord } from '../../server/gateway/support.ts'

describe('openFsDirectory, by the clock on the wall', () => {
  let folder: string
  let directory: InstanceDirectory
  const closing: (() => Promise<void>)[] = []

  async function open(limits: Partial<GatewayLimits> = {}): Promise<void> {
    folder = await mkdtemp(join(tmpdir(), 'directory-'))
    directory = await openFsDirectory({
      instancesDir: folder,
      hostname: hostname(),
      clock: systemClock,
      ticks: monotonicClock,
      timer: systemTimer,
      limits: { ...defaultPublicLimits, ...resolveGatewayLimits(limits) },
      log: silentLogger,
    })
    closing.push(async () => {
      await directory.close()
      await rm(folder, { recursive: true, force: true })
    })
  }
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })

  const script = fileURLToPath(new URL('../../helpers/scripts/instance.ts', import.meta.url))
  async function startInstance(id: string = randomUUID()) {
    const child = spawn(process.execPath, [script, folder, id], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const exited = once(child, 'exit')
    await once(child.stdout, 'data')
    const end = async (how: () => unknown) => {
      how()
      await exited
    }
    const crash = () => end(() => child.kill('SIGKILL'))
    closing.unshift(crash)
    return { id, crash, leave: () => end(() => child.stdin.end()) }
  }
  const healths = () =>
    new Map(directory.entries.map(({ record, verdict }) => [record.instanceId, verdict.health]))

  it('sees many processes come, crash and leave at once', async () => {
    await open()
    const instances = await Promise.all(Array.from({ length: 6 }, () => startInstance()))
    await until(() => directory.entries.length === 6, 'all are there')
    expect([...new Set(healths().values())]).to.deep.equal(['live'])
    const wrong: string[] = []
    const living = new Set(instances.slice(4).map(({ id }) => id))
    directory.onChange(() => {
      for (const [id, health] of healths()) {
        if (living.has(id) && health !== 'live') wrong.push(`${id} ${health}`)
      }
    })
    await Promise.all([
      ...instances.slice(0, 2).map(instance => instance.crash()),
      ...instances.slice(2, 4).map(instance => instance.leave()),
    ])
    const states = () => instances.map(({ id }) => healths().get(id) ?? 'gone')
    const expected = ['dead', 'gone', 'live'].flatMap(state => Array(2).fill(state))
    await until(() => String(states()) === String(expected), 'the view is right')
    expect(wrong).to.deep.equal([])
  })

  it('hears of changes by events, without the regular look', async () => {
    await open({ recordScanMs: 1_000_000, processCheckMs: 1_000_000 })
    const { id, leave } = await startInstance()
    await until(() => directory.entries.length === 1, 'it appeared')
    expect(directory.entries[0]?.record.instanceId).to.equal(id)
    const beats = () => directory.entries[0]?.verdict.heartbeatAgeMs ?? Infinity
    let most = beats()
    await until(() => {
      const now = beats()
      const beat = now < most
      most = Math.max(most, now)
      return beat
    }, 'a heartbeat is seen')
    await leave()
    await until(() => directory.entries.length === 0, 'it is gone')
  })

  it('looks by itself where no events come', async () => {
    await open({ recordScanMs: 20, recordGatherMs: 1_000_000 })
    const { leave } = await startInstance()
    await until(() => directory.entries.length === 1, 'it appeared')
    await leave()
    await until(() => directory.entries.length === 0, 'it is gone')
  })

  it('keeps its head in a folder in which files come and go all the time', async () => {
    await open({ recordScanMs: 10, processCheckMs: 10, recordGatherMs: 1 })
    const { id } = await startInstance()
    await until(() => directory.entries.length === 1, 'it appeared')
    const lost: string[] = []
    directory.onChange(changes => {
      for (const change of changes) {
        if (change.kind === 'gone' && change.entry.record.instanceId === id) lost.push(id)
      }
    })
    for (let round = 0; round < 300; round++) {
      const record = makeRecord()
      const path = recordFile(folder, record.instance_id)
      await writeFile(`${path}.tmp`, JSON.stringify(record))
      await rename(`${path}.tmp`, path)
      await rm(path)
    }
    await directory.refresh()
    expect(lost).to.deep.equal([])
    expect([...healths()]).to.deep.equal([[id, 'live']])
    expect(directory.faults).to.deep.equal([])
  })
})
