import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../helpers/in-process.ts'
import { cleanEnv } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

describe('completion', () => {
  let home: string
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'completion-'))
  })
  afterEach(() => rm(home, { recursive: true }))

  const env = (shell: string) =>
    cleanEnv({ HOME: home, XDG_CACHE_HOME: home, SHELL: `/bin/${shell}` })

  it('is written when it is asked for, and completes flags in bash', async function () {
    expect((await runCommand(['--help'], { env: env('bash') })).stdout).to.contain('autocomplete')
    expect(await readdir(home)).to.deep.equal([])
    const made = await runCommand(['autocomplete', 'bash'], { env: env('bash') })
    expect(made.code, made.stderr).to.equal(0)
    const functions = join(home, 'service-cli', 'autocomplete', 'functions', 'bash')
    const asked = `source ${join(functions, 'service-cli.bash')}
      COMP_WORDS=(service-cli token create --) COMP_CWORD=3
      _service-cli_autocomplete; echo "\${COMPREPLY[*]}"`
    const { stdout, error } = spawnSync('bash', ['-c', asked], { encoding: 'utf8' })
    if (error !== undefined) skipBecause(this, 'there is no bash on this machine')
    expect(stdout.trim().split(' ')).to.include.members(['--scope', '--days', '--registry'])
  })

  it('tells how it is switched on', async () => {
    const { code, stdout } = await runCommand(['autocomplete'], { env: env('zsh') })
    expect(code).to.equal(0)
    expect(stdout).to.contain('printf "$(service-cli autocomplete script zsh)" >> ~/.zshrc')
    expect(stdout).not.to.contain('CLI')
  })

  it('writes no script where another user could replace it', async function () {
    if (process.getuid === undefined) skipBecause(this, 'owners and modes are of POSIX systems')
    const program = join(home, 'service-cli')
    const scripts = join(program, 'autocomplete')
    await mkdir(scripts, { recursive: true, mode: 0o700 })
    await chmod(program, 0o755)
    for (const folder of [scripts, program, home]) {
      await chmod(folder, 0o777)
      for (const words of [[], ['bash', '--refresh-cache'], ['script', 'bash']]) {
        const refused = await runCommand(['autocomplete', ...words], { env: env('bash') })
        expect(refused.code, folder).to.equal(2)
        expect(refused.stderr).to.contain(`${folder}: others can change it`)
      }
      await chmod(folder, 0o755)
    }
    expect(await readdir(scripts)).to.deep.equal([])
    await chmod(scripts, 0o775)
    await chmod(program, 0o700)
    expect((await runCommand(['autocomplete'], { env: env('bash') })).code).to.equal(0)
  })

  it('writes no script without a home folder', async () => {
    const bare = cleanEnv({ HOME: '', TMPDIR: home, XDG_CACHE_HOME: undefined })
    const { code, stderr } = await runCommand(['autocomplete', 'bash'], { env: bare })
    expect(code).to.equal(2)
    const hint = 'hint: set HOME to an absolute path\n'
    expect(stderr).to.equal(`error: there is no home folder for the script\n${hint}`)
    expect(await readdir(home)).to.deep.equal([])
  })
})
