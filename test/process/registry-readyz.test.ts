import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import { ask } from '../helpers/mcp.ts'
import { type AccountsProcess, startAccountsProcess } from '../helpers/accounts-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { until } from '../helpers/until.ts'

/** Every write to a file of the process fails from now on (EFBIG), or works again. */
function limitFiles({ pid }: AccountsProcess, bytes: string): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}`])
}

function hasPrlimit(): boolean {
  try {
    execFileSync('prlimit', ['--version'])
    return true
  } catch {
    return false
  }
}

describe('readyz of the registry', () => {
  it('is 503 while the disk takes no writes, and 200 again after', async function () {
    if (!hasPrlimit()) skipBecause(this, 'prlimit is missing: writes cannot be made to fail')
    const registry = await startAccountsProcess()
    const status = async (path: string) => (await ask(registry.url + path)).status
    try {
      expect(await status('/readyz')).to.equal(200)
      limitFiles(registry, '1:unlimited')
      await until(async () => (await status('/readyz')) === 503, 'readyz that is 503')
      const { json } = await ask(`${registry.url}/readyz`)
      expect(json.detail).to.equal('the database cannot be written')
      expect(await status('/healthz')).to.equal(200)
      limitFiles(registry, 'unlimited:unlimited')
      await until(async () => (await status('/readyz')) === 200, 'readyz that is 200')
    } finally {
      expect(await registry.stop()).to.equal(0)
    }
  })
})
