import { Errors } from '@oclif/core'
import { expect } from 'chai'
import { exitCodeOf } from '../../src/lib/cli/exit-codes.ts'
import { describeFailure } from '../../src/lib/cli/failure.ts'
import { ServiceError } from '../../src/lib/util/errors.ts'
import { runCommand } from '../helpers/in-process.ts'

describe('a command that fails', () => {
  const failures: [args: string, code: number, message: string][] = [
    ['nosuch', 2, 'command nosuch not found'],
    ['sevre', 2, 'did you mean serve?'],
    ['token crate', 2, 'command token crate not found'],
    ['serve --prot 1', 2, 'did you mean --port?'],
    ['serve --no-artifacts', 2, 'did you mean --no-artefacts?'],
    ['serve --something', 2, 'add --help'],
    ['serve --port', 2, 'flag --port expects a value'],
    ['serve --port x', 2, '--port: expected an integer'],
    ['serve --port 70000', 2, '--port: expected an integer less than'],
    ['serve --limit maxSesions=1', 2, 'did you mean "maxSessions"?'],
    ['serve --host 0.0.0.0', 2, '--allow-unauthenticated'],
    ['serve --api-key-file /nonexistent', 2, 'no such file'],
    ['mcp-config cursor --gateway --instance x', 2, '--instance=x cannot also be provided when'],
  ]
  for (const [words, code, message] of failures) {
    it(`ends with ${code} for ${words}, as text and as JSON`, async () => {
      const args = words.split(' ')
      const text = await runCommand(args)
      expect([text.code, text.stdout]).to.deep.equal([code, ''])
      expect(text.stderr).to.match(/^error: /)
      expect(text.stderr).to.contain(message)
      const json = await runCommand(['--json', ...args])
      expect(json.code).to.equal(code)
      const { error } = JSON.parse(json.stdout)
      expect(error.code).to.match(/^(usage|config)_invalid$/)
      expect(`${error.message} ${error.hint}`).to.contain(message)
    })
  }

  it('shows no word behind a whole command, nor what follows an unknown flag', async () => {
    for (const words of ['whoami s3cret', 'whoami --tokn=s3cret', 'whoami -ps3cret']) {
      const { code, stderr } = await runCommand(words.split(' '))
      expect(code).to.equal(2)
      expect(stderr).to.match(/unexpected argument of whoami|nonexistent flag: (--tokn|-p)\n/)
      expect(stderr).not.to.contain('s3cret')
    }
  })
})

describe('describeFailure', () => {
  it('has an exit code from 1 to 6 for every error code but a cancelled prompt', () => {
    const { cancelled, ...others } = exitCodeOf
    expect(cancelled).to.equal(130)
    for (const exit of Object.values(others)) expect(exit).to.be.within(1, 6)
    expect(others).to.include({ usage_invalid: 2, config_invalid: 2, auth_refused: 4 })
    const refused = describeFailure(new ServiceError('auth_refused', 'x'), false)
    expect(refused.exitCode).to.equal(4)
  })

  it('ends the line of the question when it was cancelled, and no more', () => {
    const error = new ServiceError('cancelled', 'cancelled')
    expect(describeFailure(error, false)).to.deep.equal({ exitCode: 130, stdout: '', stderr: '\n' })
    expect(JSON.parse(describeFailure(error, true).stdout).error.code).to.equal('cancelled')
  })

  it('hides what looks like a token, wherever a message has it', () => {
    for (const token of ['svc_abcdefgh12345678', 'eyJhbGciOiJFUzI1NiJ9.x.y']) {
      for (const error of [
        new Errors.CLIError(`command ${token} not found`),
        new Errors.CLIError(`Expected --scope=${token} to be one of: read, publish`),
        new ServiceError('request_refused', `no "${token}"`),
      ]) {
        const { stderr, stdout } = describeFailure(error, true)
        const said = stderr + stdout
        expect(said).to.contain('[redacted]').and.not.contain(token)
      }
    }
  })

  it('wraps each line of a message alone, so that a table in it keeps its columns', () => {
    const { isTTY, columns } = process.stderr
    Object.assign(process.stderr, { isTTY: true, columns: 30 })
    try {
      const table = 'ID        NAME\n3f2a91c0  the first of them\n4f51fb10  -'
      const message = `2 instances are running as "blender":\n${table}`
      const wrapped = `error: 2 instances are running\n  as "blender":\n${table}\n`
      const error = new ServiceError('usage_invalid', message)
      expect(describeFailure(error, false).stderr).to.equal(wrapped)
    } finally {
      Object.assign(process.stderr, { isTTY, columns })
    }
  })

  it('writes one JSON line to stdout, without members beyond code, message and hint', () => {
    const parts = { hint: 'log in', data: { token: 's3cret' } }
    const error = new ServiceError('auth_refused', 'refused', parts)
    Object.assign(error, { headers: { authorization: 'Bearer s3cret' } })
    const stdout = '{"error":{"code":"auth_refused","message":"refused","hint":"log in"}}\n'
    expect(describeFailure(error, true)).to.deep.equal({ exitCode: 4, stdout, stderr: '' })
  })

  it('marks anything else as internal and hides its stack', () => {
    const stderr = 'error: internal: boom\n'
    const internal = { exitCode: 1, stdout: '', stderr }
    expect(describeFailure(new Error('boom'), false)).to.deep.equal(internal)
  })
})
