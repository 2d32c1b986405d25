import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { LinkClient } from '../helpers/link.ts'
import { writeInstance } from '../helpers/instance-files.ts'
import { runCommand } from '../helpers/in-process.ts'
import { exitOf, startProgram } from '../helpers/program.ts'
import { until } from '../helpers/until.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'

describe('service-cli instances', () => {
  let registryDir: string
  const folder = () => `--registry-dir=${registryDir}`

  beforeEach(async () => (registryDir = await mkdtemp(join(tmpdir(), 'cli-instances-'))))
  afterEach(() => rm(registryDir, { recursive: true, force: true }))

  it('says what to do where nothing runs, and ends with 0', async () => {
    const { code, stdout, stderr } = await runCommand(['instances', folder()])
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout).to.contain('No server running').and.contain('run.js serve')
    const json = await runCommand(['instances', '--json', folder()])
    expect(json.code).to.equal(0)
    expect(JSON.parse(json.stdout)).to.deep.include({ list_ok: true, total: 0, instances: [] })
  })

  it('shows a running serve without a gateway, and warns of a broken record', async () => {
    const serve = await serveInProcess({ registryDir, flags: ['--dcc-type=maya'] })
    try {
      const file = join(registryDir, 'instances', '11111111-2222-4333-8444-555555555555.json')
      await writeFile(file, 'no record', { mode: 0o600 })
      const { code, stdout, stderr } = await runCommand(['instances', folder()])
      expect(code).to.equal(0)
      expect(stdout).to.contain(serve.instanceId.slice(0, 8)).and.contain(serve.url)
      expect(stdout).to.match(/ maya .* available +live /)
      expect(stderr).to.contain('11111111')
    } finally {
      await serve.stop()
    }
  })

  it('says when a scene was posted, until an application sends its own', async () => {
    const serve = await serveInProcess({ registryDir })
    const list = async () => (await runCommand(['instances', folder()])).stdout
    try {
      expect(await list()).to.match(/ live +- +http/)
      await serve.post('scene', { frame: 1 })
      await until(async () => / live +set (?:now|\d+ s ago) +http/.test(await list()), 'the time')
      const { instances } = JSON.parse((await runCommand(['instances', '--json', folder()])).stdout)
      expect(instances[0].scene).to.equal(null)
      expect(Date.parse(instances[0].scene_set_at)).to.be.closeTo(Date.now(), 60_000)
      const application = await LinkClient.connect(serve)
      await application.done({ type: 'scene.set', scene: { frame: 2 } })
      await until(async () => / live +- +http/.test(await list()), 'no time')
      await application.bye()
      await serve.post('scene', null)
      await serve.post('scene', { frame: 3 })
      await until(async () => / live +set /.test(await list()), 'the next time')
    } finally {
      await serve.stop()
    }
  })

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    it(`prints what changes until ${signal}, then ends with 0`, async () => {
      const watch = startProgram(['instances', '--watch', '--json', folder()])
      const lines: any[] = []
      if (watch.stdout !== null) {
        createInterface({ input: watch.stdout }).on('line', line => lines.push(JSON.parse(line)))
      }
      await until(() => lines.length === 1, 'the list')
      const instance = await writeInstance(registryDir)
      await until(() => lines.length === 2, 'it appears')
      await instance.update({ scene: '/a.ma' })
      await until(() => lines.length === 3, 'it changes')
      await instance.remove()
      await until(() => lines.length === 4, 'it goes')
      watch.kill(signal)
      expect(await exitOf(watch)).to.equal(0)
      expect(lines[0]).to.include({ list_ok: true, total: 0 })
      const { instance_id } = instance.record
      expect(lines.slice(1).map(({ event }) => event)).to.deep.equal([
        'appeared',
        'changed',
        'gone',
      ])
      for (const line of lines.slice(1)) expect(line.instance).to.include({ instance_id })
      expect(lines[2].instance.scene).to.equal('/a.ma')
    })
  }

  it('ends with 0 when nobody reads any more', async () => {
    const watch = startProgram(['instances', '--watch', folder()])
    const { stdout } = watch
    if (stdout === null) throw new Error('no stdout')
    await once(stdout, 'data')
    stdout.destroy()
    const exited = exitOf(watch)
    const instance = await writeInstance(registryDir)
    try {
      expect(await exited).to.equal(0)
    } finally {
      await instance.remove()
    }
  })
})
