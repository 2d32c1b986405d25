import { randomUUID } from 'node:crypto'
import { readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import { reapInstances } from '../../../src/lib/instances/record-files.ts'
import { makeRecord } from '../../server/gateway/support.ts'
import { newFolder } from '../../helpers/cleanup.ts'

/** Above the largest process id that Linux gives (`pid_max`). */
const deadPid = 4_194_305

describe('reapInstances', () => {
  let base: string
  beforeEach(() => (base = newFolder()))

  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000)
  const clean = () => reapInstances(base, silentLogger)
  const files = async () => (await readdir(base)).sort()

  async function place(changes: object, touched = ago(11)): Promise<string> {
    const id = randomUUID()
    const own = makeRecord({ instance_id: id, pid: deadPid })
    await writeFile(join(base, `${id}.json`), JSON.stringify({ ...own, ...changes }))
    await writeFile(join(base, `${id}.token`), 'secret')
    await utimes(join(base, `${id}.json`), touched, touched)
    return id
  }

  it('removes the record and the token of a dead process', async () => {
    await place({})
    await clean()
    expect(await files()).to.deep.equal([])
  })

  it('keeps the living, the recent, other hosts, other versions and what it cannot read', async () => {
    await place({ pid: process.pid })
    await place({}, ago(9))
    await place({ hostname: 'another-host' })
    await place({ schema_version: 2 })
    await place({ instance_id: randomUUID() })
    await writeFile(join(base, `${randomUUID()}.json`), '{"half')
    await writeFile(join(base, 'notes.json'), JSON.stringify(makeRecord({ pid: deadPid })))
    const before = await files()
    await clean()
    expect(await files()).to.deep.equal(before)
  })

  it('does not follow a symlink', async () => {
    const id = await place({})
    await rm(join(base, `${id}.json`))
    await writeFile(join(base, 'elsewhere'), JSON.stringify(makeRecord({ pid: deadPid })))
    await symlink(join(base, 'elsewhere'), join(base, `${id}.json`))
    await clean()
    expect(await files()).to.have.length(3)
  })

  it('does not mind a folder that is not there', async () => {
    await rm(base, { recursive: true })
    await clean()
  })
})
