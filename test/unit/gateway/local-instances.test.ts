import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLogger } from '../../../src/lib/util/logger.ts'
import {
  type LocalInstances,
  openLocalInstances,
} from '../../../src/server/gateway/local-instances.ts'
import { until } from '../../helpers/until.ts'
import { writeInstance } from '../../helpers/instance-files.ts'

describe('the instances of this user, without a gateway', () => {
  let registryDir: string
  let instances: LocalInstances
  const told: string[] = []
  const all = { dead: false }

  beforeEach(async () => {
    registryDir = await mkdtemp(join(tmpdir(), 'local-instances-'))
    told.length = 0
  })
  afterEach(async () => {
    await instances.close()
    await rm(registryDir, { recursive: true, force: true })
  })

  const open = async () => (instances = await openLocalInstances(registryDir, silentLogger))

  it('are told when they come, change and go, of those asked for alone', async () => {
    await open()
    instances.watch({ ...all, dccType: 'maya' }, (kind, row) => {
      told.push(`${kind} ${row.dcc_type} ${row.scene}`)
    })
    const other = await writeInstance(registryDir, { dccType: 'houdini' })
    const maya = await writeInstance(registryDir)
    await until(() => told.length === 1, 'it came')
    const found = instances.list({ ...all, dccType: 'HOUDINI' }).instances
    expect(found.map(row => row.instance_id)).to.deep.equal([other.record.instance_id])
    await maya.update({ scene: '/a.ma' })
    await until(() => told.length === 2, 'it changed')
    await Promise.all([maya.remove(), other.remove()])
    await until(() => told.length === 3, 'it went')
    expect(told).to.deep.equal(['appeared maya null', 'changed maya /a.ma', 'gone maya /a.ma'])
  })

  it('are told of when they fit no more, with what they are then', async () => {
    const maya = await writeInstance(registryDir)
    await open()
    instances.watch({ ...all, status: 'available' }, (kind, row) => {
      told.push(`${kind} ${row.status}`)
    })
    await maya.update({ status: 'busy' })
    await until(() => told.length === 1, 'it is busy')
    await maya.update({ scene: '/b.ma' })
    await maya.update({ status: 'available' })
    await until(() => told.length === 2, 'it is available again')
    expect(told).to.deep.equal(['changed busy', 'appeared available'])
    await maya.remove()
  })
})
