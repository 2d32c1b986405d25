import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { createAccountHome } from '../helpers/account-home.ts'
import { skipBecause } from '../helpers/skip.ts'

describe('completion', () => {
  it('is written when it is asked for, and completes flags in bash', async function () {
    const home = createAccountHome('http://127.0.0.1:1')
    try {
      const env = { XDG_CACHE_HOME: home.folder }
      expect((await home.run(['--help'], { env })).stdout).to.contain('autocomplete')
      expect(readdirSync(home.folder)).to.deep.equal([])
      const made = await home.run(['autocomplete', 'bash'], { env })
      expect(made.code, made.stderr).to.equal(0)
      const functions = join(home.folder, 'service-cli', 'autocomplete', 'functions', 'bash')
      const asked = `source ${join(functions, 'service-cli.bash')}
        COMP_WORDS=(service-cli token create --) COMP_CWORD=3
        _service-cli_autocomplete; echo "\${COMPREPLY[*]}"`
      const { stdout, error } = spawnSync('bash', ['-c', asked], { encoding: 'utf8' })
      if (error !== undefined) skipBecause(this, 'there is no bash on this machine')
      expect(stdout.trim().split(' ')).to.include.members(['--scope', '--days', '--registry'])
    } finally {
      home.remove()
    }
  })
})
