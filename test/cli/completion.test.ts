import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { expectEnd, runCommand } from '../helpers/in-process.ts'
import { cleanEnv } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

describe('completion', () => {
  let home: string
  beforeEach(() => (home = newFolder()))

  const env = (shell: string) =>
    cleanEnv({ HOME: home, XDG_CACHE_HOME: home, SHELL: `/bin/${shell}` })

  it('is written when it is asked for, and completes flags in bash', async function () {
    expect((await runCommand(['--help'], { env: env('bash') })).stdout).to.contain('autocomplete')
    expect(await readdir(home)).to.deep.equal([])
    expectEnd(await runCommand(['autocomplete', 'bash'], { env: env('bash') }), 0)
    const functions = join(home, 'service-cli', 'autocomplete', 'functions', 'bash')
    const asked = `source ${join(functions, 'service-cli.bash')}
      COMP_WORDS=(service-cli token create --) COMP_CWORD=3
      _service-cli_autocomplete; echo "\${COMPREPLY[*]}"`
    const { stdout, error } = spawnSync('bash', ['-c', asked], { encoding: 'utf8' })
    if (error !== undefined) skipBecause(this, 'there is no bash on this machine')
    expect(stdout.trim().split(' ')).to.include.members(['--scope', '--days', '--registry'])
  })

  it('is refused without a home, not written below the temporary folder', async () => {
    expectEnd(
      await runCommand(['autocomplete', 'bash'], { env: { HOME: '' } }),
      2,
      'HOME "" is not an absolute path',
    )
  })
})
