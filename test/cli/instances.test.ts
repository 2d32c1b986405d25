import { expect } from 'chai'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { LinkClient } from '../helpers/link.ts'
import { writeInstance } from '../helpers/instances.ts'
import { runCommand } from '../helpers/in-process.ts'
import { until } from '../helpers/until.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { Screen } from './screen.ts'

describe('service-cli instances', () => {
  let registryDir: string
  const folder = () => `--registry-dir=${registryDir}`

  beforeEach(() => (registryDir = newFolder()))

  it('says what to do where nothing runs, and ends with 0', async () => {
    const { code, stdout, stderr } = await runCommand(['instances', folder()])
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout).to.contain('No server running').and.contain('service-cli serve')
    const json = await runCommand(['instances', '--json', folder()])
    expect(json.code).to.equal(0)
    expect(JSON.parse(json.stdout)).to.deep.include({ list_ok: true, total: 0, instances: [] })
  })

  it('shows a running serve, when its scene was posted, and warns of a broken record', async () => {
    const serve = await serveInProcess({ registryDir, flags: ['--dcc-type=maya'] })
    const list = async () => (await runCommand(['instances', folder()])).stdout
    const file = join(registryDir, 'instances', '11111111-2222-4333-8444-555555555555.json')
    await writeFile(file, 'no record', { mode: 0o600 })
    const { code, stdout, stderr } = await runCommand(['instances', folder()])
    expect(code).to.equal(0)
    expect(stdout).to.contain(serve.instanceId.slice(0, 8)).and.contain(serve.url)
    expect(stdout).to.match(/ maya .* available +- +http/)
    expect(stderr).to.contain('11111111')
    await serve.post('scene', { frame: 1 })
    await until(
      async () => / available +set (?:now|\d+ s ago) +http/.test(await list()),
      'the time',
    )
    const { instances } = JSON.parse((await runCommand(['instances', '--json', folder()])).stdout)
    expect(instances[0].scene).to.equal(null)
    expect(Date.parse(instances[0].scene_set_at)).to.be.closeTo(Date.now(), 60_000)
    const application = await LinkClient.connect(serve)
    await application.done({ type: 'scene.set', scene: { frame: 2 } })
    await until(async () => / available +- +http/.test(await list()), 'no time')
    await application.bye()
    await serve.post('scene', null)
    await serve.post('scene', { frame: 3 })
    await until(async () => / disconnected +set /.test(await list()), 'the next time')
  })

  it('prints what changes until a signal', async () => {
    const screen = new Screen()
    const json = (): any[] => screen.lines().map(line => JSON.parse(line))
    const shows = (count: number) => until(() => json().length === count, `${count} lines`)
    const running = runCommand(['instances', '--watch', '--json', folder()], { stdout: screen })
    await shows(1)
    const instance = await writeInstance(registryDir)
    await shows(2)
    await instance.update({ scene: '/a.ma' })
    await shows(3)
    await instance.remove()
    await shows(4)
    process.emit('SIGHUP')
    expect(await running).to.deep.equal({ code: 0, stdout: '', stderr: '' })
    const [list, ...changes] = json()
    expect(list).to.include({ list_ok: true, total: 0 })
    expect(changes.map(({ event }) => event)).to.deep.equal(['appeared', 'changed', 'gone'])
    const { instance_id } = instance.record
    for (const change of changes) expect(change.instance).to.include({ instance_id })
    expect(changes[1].instance.scene).to.equal('/a.ma')
  })
})
