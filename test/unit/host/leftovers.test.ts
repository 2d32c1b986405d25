import { randomUUID } from 'node:crypto'
import { chown, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { removeLeftovers } from '../../../src/server/host/leftovers.ts'
import { processStart } from '../../../src/lib/instances/process.ts'
import { makeRecord } from '../../server/gateway/support.ts'
import { skipBecause } from '../../helpers/skip.ts'

/** Above the largest process id that Linux gives (`pid_max`). */
const deadPid = 4_194_305

describe('removeLeftovers', () => {
  let base: string
  beforeEach(async () => (base = await mkdtemp(join(tmpdir(), 'leftovers-'))))
  afterEach(() => rm(base, { recursive: true, force: true }))

  const minute = 60_000
  const longAgo = new Date(Date.now() - 11 * minute)

  async function place(changes: object, token = true, touched = longAgo): Promise<string> {
    const id = randomUUID()
    const own = makeRecord({ instance_id: id, pid: deadPid, pid_start: null })
    await writeFile(join(base, `${id}.json`), JSON.stringify({ ...own, ...changes }))
    await utimes(join(base, `${id}.json`), touched, touched)
    if (token) await writeFile(join(base, `${id}.token`), 'secret')
    return id
  }
  const clean = () =>
    removeLeftovers({ instancesDir: base, recordAgeMs: 10 * minute, log: silentLogger })
  const files = async () => (await readdir(base)).sort()

  it('removes the record and the token of a dead process', async () => {
    const id = await place({})
    expect(await clean()).to.deep.equal([id])
    expect(await files()).to.deep.equal([])
  })

  it('keeps the record and the token of a process that died moments ago', async () => {
    const id = await place({}, true, new Date(Date.now() - 9 * minute))
    expect(await clean()).to.deep.equal([])
    expect(await files()).to.deep.equal([`${id}.json`, `${id}.token`])
  })

  it('removes the record of a process whose pid was given away', async function () {
    if (process.platform !== 'linux') skipBecause(this, 'needs Linux')
    const id = await place({ pid: process.pid, pid_start: 'boot:1' })
    expect(await clean()).to.deep.equal([id])
  })

  it('keeps living processes, other hosts, other versions and what it cannot read', async () => {
    await place({ pid: process.pid, pid_start: await processStart(process.pid) })
    await place({ pid: process.pid, pid_start: null })
    await place({ hostname: 'another-host' })
    await place({ schema_version: 2 })
    await place({ instance_id: randomUUID() })
    await place({ pid: 0 })
    await writeFile(join(base, `${randomUUID()}.json`), '{"half')
    await writeFile(join(base, 'notes.json'), JSON.stringify({ schema_version: 1, pid: deadPid }))
    const before = await files()
    expect(await clean()).to.deep.equal([])
    expect(await files()).to.deep.equal(before)
  })

  it('does not follow a symlink', async () => {
    const id = await place({})
    await rm(join(base, `${id}.json`))
    await writeFile(join(base, 'elsewhere'), JSON.stringify({ schema_version: 1 }))
    await symlink(join(base, 'elsewhere'), join(base, `${id}.json`))
    expect(await clean()).to.deep.equal([])
    expect(await files()).to.have.length(3)
  })

  it("keeps another user's record", async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root can give a file to somebody else')
    const id = await place({}, false)
    await chown(join(base, `${id}.json`), 65534, 65534)
    expect(await clean()).to.deep.equal([])
    expect(await files()).to.deep.equal([`${id}.json`])
  })

  it('removes old tokens and temporary files without a record, young ones stay', async () => {
    const [old, young] = [randomUUID(), randomUUID()]
    for (const id of [old, young]) {
      for (const end of ['token', 'json.12.tmp']) {
        await writeFile(join(base, `${id}.${end}`), '')
        if (id === old) await utimes(join(base, `${id}.${end}`), 1000, 1000)
      }
    }
    const living = await place({ pid: process.pid })
    await utimes(join(base, `${living}.token`), 1000, 1000)
    await clean()
    expect(await files()).to.deep.equal(
      [`${young}.json.12.tmp`, `${young}.token`, `${living}.json`, `${living}.token`].sort(),
    )
  })

  it('does not mind a folder that is not there', async () => {
    await rm(base, { recursive: true })
    expect(await clean()).to.deep.equal([])
  })
})
