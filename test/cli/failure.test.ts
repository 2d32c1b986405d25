import { Errors } from '@oclif/core'
import { expect } from 'chai'
import { exitCodeOf } from '../../src/lib/cli/exit-codes.ts'
import { describeFailure } from '../../src/lib/cli/failure.ts'
import { type ErrorCode, ServiceError } from '../../src/lib/util/errors.ts'
import { runCommand } from '../helpers/in-process.ts'

/** As the parser throws it. */
function nonexistent(flag: string): object {
  const flags = { port: {}, 'no-artefacts': {} }
  return Object.assign(new Errors.CLIError(`Nonexistent flag: ${flag}`), {
    parse: { input: { flags } },
  })
}

describe('describeFailure', () => {
  const codes: [code: ErrorCode, exit: number][] = [
    ['usage_invalid', 2],
    ['config_invalid', 2],
    ['auth_required', 4],
    ['auth_refused', 4],
    ['port_in_use', 1],
    ['internal', 1],
  ]
  for (const [code, exit] of codes) {
    it(`ends with ${exit} for ${code}`, () => {
      expect(describeFailure(new ServiceError(code, 'x'), false).exitCode).to.equal(exit)
    })
  }

  it('has an exit code from 1 to 6 for every error code but a cancelled prompt', () => {
    const { cancelled, ...others } = exitCodeOf
    expect(cancelled).to.equal(130)
    for (const exit of Object.values(others)) expect(exit).to.be.within(1, 6)
  })

  it('names flags that exclude each other without a headline of the parser', async () => {
    const { stderr } = await runCommand(['mcp-config', 'cursor', '--gateway', '--instance', 'x'])
    expect(stderr).to.match(/^error: --instance=x cannot also be provided when using --gateway/)
  })

  it('ends the line of the question when it was cancelled, and no more', () => {
    const error = new ServiceError('cancelled', 'cancelled')
    expect(describeFailure(error, false)).to.deep.equal({ exitCode: 130, stdout: '', stderr: '\n' })
    expect(JSON.parse(describeFailure(error, true).stdout).error.code).to.equal('cancelled')
  })

  for (const [flags, named] of [
    ['--tokn=s3cret', '--tokn'],
    ['-ps3cret', '-p'],
    ['--one=s3cret\ns3cret, -xs3cret', '--one, -x'],
  ]) {
    it(`names unknown flags without what follows them: ${named}`, () => {
      const { stderr } = describeFailure(nonexistent(flags ?? ''), false)
      expect(stderr).to.contain(`nonexistent flag: ${named}\n`).and.not.contain('s3cret')
    })
  }

  it('does not show the word behind a whole command, which may be a password', () => {
    const commands = ['whoami', 'registry', 'registry:users:list']
    const said = (words: string) =>
      describeFailure(new Errors.CLIError(`command ${words} not found`), false, commands).stderr
    expect(said('whoami:s3cret'))
      .to.contain('error: unexpected argument of whoami\n')
      .and.not.contain('s3cret')
    expect(said('registry:usres')).to.contain('error: command registry usres not found\n')
  })

  it('hides what looks like a token, wherever a message has it', () => {
    for (const token of ['svc_abcdefgh12345678', 'eyJhbGciOiJFUzI1NiJ9.x.y']) {
      for (const error of [
        new Errors.CLIError(`command ${token} not found`),
        new Errors.CLIError(`Expected --scope=${token} to be one of: read, publish`),
        new ServiceError('request_refused', `no "${token}"`),
      ]) {
        const { stderr, stdout } = describeFailure(error, true)
        expect(stderr + stdout)
          .to.contain('[redacted]')
          .and.not.contain(token)
      }
    }
  })

  it('writes message and hint to stderr', () => {
    const error = new ServiceError('port_in_use', 'port 1 is taken', { hint: 'take another' })
    expect(describeFailure(error, false)).to.deep.equal({
      exitCode: 1,
      stdout: '',
      stderr: 'error: port 1 is taken\nhint: take another\n',
    })
  })

  it('wraps each line of a message alone, so that a table in it keeps its columns', () => {
    const { isTTY, columns } = process.stderr
    Object.assign(process.stderr, { isTTY: true, columns: 30 })
    try {
      const table = 'ID        NAME\n3f2a91c0  the first of them\n4f51fb10  -'
      const error = new ServiceError(
        'usage_invalid',
        `2 instances are running as "blender":\n${table}`,
      )
      const wrapped = `error: 2 instances are running\n  as "blender":\n${table}\n`
      expect(describeFailure(error, false).stderr).to.equal(wrapped)
    } finally {
      Object.assign(process.stderr, { isTTY, columns })
    }
  })

  it('writes one JSON line to stdout, without members beyond code, message and hint', () => {
    const error = Object.assign(
      new ServiceError('auth_refused', 'refused', { hint: 'log in', data: { token: 's3cret' } }),
      { headers: { authorization: 'Bearer s3cret' } },
    )
    expect(describeFailure(error, true)).to.deep.equal({
      exitCode: 4,
      stdout: '{"error":{"code":"auth_refused","message":"refused","hint":"log in"}}\n',
      stderr: '',
    })
  })

  it('tells parse failures of the command parser as usage errors', () => {
    const error = new Errors.CLIError('Parsing --port \n\tExpected x\nSee more help with --help')
    const { exitCode, stderr } = describeFailure(error, false)
    expect(exitCode).to.equal(2)
    expect(stderr).to.match(/^error: --port: expected x\nhint: /)
  })

  const adapter = 'did you mean adapter blender?'
  const mistyped: [what: string, error: object, hint: string][] = [
    ['a flag', nonexistent('--prot'), 'did you mean --port?'],
    ['a flag switched off', nonexistent('--no-artifacts'), 'did you mean --no-artefacts?'],
    ['a flag like none', nonexistent('--something'), 'add --help'],
    ['a command', new Errors.CLIError('command sevre not found'), 'did you mean serve?'],
    ['a command of a topic', new Errors.CLIError('command adapter:blendr not found'), adapter],
    ['a command like none', new Errors.CLIError('command paint not found'), 'add --help'],
  ]
  for (const [what, error, hint] of mistyped) {
    it(`hints at what was meant by ${what}`, () => {
      const { exitCode, stderr } = describeFailure(error, false, ['serve', 'adapter:blender'])
      expect(exitCode).to.equal(2)
      expect(stderr).to.contain(`\nhint: ${hint}`)
    })
  }

  it('says nothing when a command ended itself', () => {
    expect(describeFailure(new Errors.ExitError(0), false)).to.deep.equal({
      exitCode: 0,
      stdout: '',
      stderr: '',
    })
  })

  it('marks anything else as internal and hides its stack', () => {
    const { exitCode, stderr } = describeFailure(new Error('boom'), false)
    expect(exitCode).to.equal(1)
    expect(stderr).to.equal('error: internal: boom\n')
  })
})
