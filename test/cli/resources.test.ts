import { expect } from 'chai'
import { newFolder } from '../helpers/cleanup.ts'
import { LinkClient } from '../helpers/link.ts'
import { runCommand, expectEnd } from '../helpers/in-process.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { until } from '../helpers/until.ts'

describe('service-cli resources', () => {
  let registryDir: string
  let serve: RunningServe
  const folder = () => `--registry-dir=${registryDir}`

  before(async () => {
    registryDir = newFolder()
    serve = await serveInProcess({ registryDir, flags: ['--dcc-type=maya'] })
  })

  it('lists and reads what the running instance offers', async () => {
    await serve.post('scene', { frame: 7 })
    const list = await runCommand(['resources', 'list', folder()])
    expect(list.code).to.equal(0)
    expect(list.stdout).to.match(/^NAME +TYPE +SIZE +MODIFIED +URI\n/)
    expect(list.stdout).to.contain('scene://current').and.contain('audit://recent')
    const some = await runCommand(['resources', 'list', 'AUDIT', folder()])
    expect(some.stdout).to.contain('audit://recent').and.not.contain('scene://')
    const none = await runCommand(['resources', 'list', 'nosuch', folder()])
    expect(none.stderr).to.match(/none of \d+ resources contains "nosuch"/)
    const json = JSON.parse((await runCommand(['resources', 'list', '--json', folder()])).stdout)
    expect(json).to.deep.include({ list_ok: true, url: serve.url })
    const read = await runCommand(['resources', 'read', 'scene://current', folder()])
    expect(read).to.deep.equal({ code: 0, stdout: '{"frame":7}', stderr: '' })
  })

  it('says that the application is gone, except of two past scenes', async () => {
    const app = await LinkClient.connect(serve)
    await app.done({ type: 'scene.set', scene: { frame: 8 } })
    const { stderr: set } = await runCommand(['checkpoint', 'eight', folder()])
    expect(set).to.equal('')
    await app.done({ type: 'scene.set', scene: { frame: 9 } })
    await runCommand(['checkpoint', 'nine', folder()])
    const read = (query: string) =>
      runCommand(['resources', 'read', `scene://delta?since=eight${query}`, folder()])
    await app.bye()
    await until(async () => (await read('')).stderr !== '', 'the remark')
    expect((await read('')).stderr).to.match(/^the application is gone since .*Z/)
    const past = await read('&until=nine')
    expect([past.code, past.stderr]).to.deep.equal([0, ''])
  })

  it('says why there is no picture of the window', async () => {
    const uri = 'capture://current_window'
    expectEnd(
      await runCommand(['resources', 'read', uri, folder()]),
      3,
      'hint: no application is connected; press Connect in the application',
    )
  })

  it('shows the first resources of a scheme with many, and how many there are', async () => {
    const app = await LinkClient.connect(serve)
    const resources = Array.from({ length: 15 }, (_, at) => ({
      uri: `app://${at}`,
      name: `o${at}`,
    }))
    await app.done({ type: 'producer.register', scheme: 'app', resources })
    const first = await runCommand(['resources', 'list', 'app://', folder()])
    expect(first.stdout.trim().split('\n')).to.have.length(13)
    expect(first.stderr).to.equal('… and 3 more of app://; show them with --all\n')
    const all = await runCommand(['resources', 'list', 'app://', '--all', folder()])
    expect(all.stdout.trim().split('\n')).to.have.length(16)
    await app.bye()
  })

  for (const command of ['read', 'watch']) {
    it(`${command} says that there is no such resource`, async () => {
      const uri = 'sceen://current'
      const { code, stdout, stderr } = await runCommand(['resources', command, uri, folder()])
      expect([code, stdout]).to.deep.equal([3, ''])
      expect(stderr).to.contain(`no resource at ${uri}`)
    })
  }
})
