import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { needPython, python, pythonEnv } from './python-driver.ts'

const folder = fileURLToPath(new URL('python/', import.meta.url))

describe('the Python link: its parts', () => {
  before(needPython)

  it('passes its own tests', function () {
    this.timeout(60_000)
    const args = ['-B', '-W', 'error', '-m', 'unittest', 'discover', '-s', folder]
    const options = { cwd: folder, env: pythonEnv, encoding: 'utf8' } as const
    const { status, stderr } = spawnSync(python, args, options)
    expect(status, stderr).to.equal(0)
    expect(stderr).to.match(/Ran [2-9]\d tests/)
  })
})
