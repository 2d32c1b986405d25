import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { needPython, pythonEnv } from './python-driver.ts'

const folder = fileURLToPath(new URL('python/', import.meta.url))

describe('the Python link: its parts', () => {
  before(function () {
    needPython(this)
  })

  it('passes its own tests', function () {
    this.timeout(60_000)
    const args = ['-B', '-W', 'error', '-m', 'unittest', 'discover', '-s', folder]
    const options = { cwd: folder, env: pythonEnv, encoding: 'utf8' } as const
    const { status, stderr } = spawnSync('python3', args, options)
    expect(status, stderr).to.equal(0)
    expect(stderr).to.match(/Ran [4-9]\d tests/)
  })

  it('can be imported as the package that the one file is made of', () => {
    const program =
      "import service_host_link as link; [getattr(link, name) for name in link.__all__]; print(link.HostLink('maya'))"
    const PYTHONPATH = fileURLToPath(new URL('../../adapters/python', import.meta.url))
    const { stdout, stderr } = spawnSync('python3', ['-B', '-c', program], {
      env: { ...pythonEnv, PYTHONPATH },
      encoding: 'utf8',
    })
    expect([stdout, stderr]).to.deep.equal(['<HostLink maya: off>\n', ''])
  })
})
