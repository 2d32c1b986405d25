import { expect } from 'chai'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createAccountHome } from '../helpers/account-home.ts'
import { failureOf } from '../helpers/in-process.ts'

describe('connect', () => {
  it('looks for ca_file beside the configuration, wherever the command runs', async () => {
    const url = 'https://127.0.0.1:1'
    const home = createAccountHome(url)
    try {
      const folder = dirname(home.configPath)
      mkdirSync(folder, { mode: 0o700 })
      const text = `[registries."${url}"]\nca_file = "studio.pem"\n`
      writeFileSync(home.configPath, text, { mode: 0o600 })
      const failed = await failureOf(['whoami', '--token', 'x'], home.env())
      expect(failed?.text.exitCode).to.equal(2)
      expect(failed?.text.stderr).to.contain(`ca_file ${join(folder, 'studio.pem')} cannot be read`)
    } finally {
      home.remove()
    }
  })
})
