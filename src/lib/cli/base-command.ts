import { Command } from '@oclif/core/command'
import * as Flags from '@oclif/core/flags'
import type { Interfaces } from '@oclif/core'
import { ServiceError } from '../util/errors.ts'

/** Flags of every command; they may also stand before it (`service-cli --json serve`). */
export const globalFlags = {
  json: Flags.boolean({
    description: 'print results and errors as JSON lines on stdout',
    helpGroup: 'GLOBAL',
  }),
  quiet: Flags.boolean({
    char: 'q',
    description: 'print only results, warnings and errors',
    helpGroup: 'GLOBAL',
  }),
}

const registryFlag = {
  registry: Flags.string({
    description:
      'address of the accounts server; overrides SERVICE_REGISTRY and default_registry in config.toml',
    helpGroup: 'GLOBAL',
    helpValue: 'URL',
  }),
}

const tokenFlag = {
  token: Flags.string({
    description:
      'use this token; overrides SERVICE_TOKEN, SERVICE_TOKEN_FILE and the saved login. ' +
      'The shell history keeps it: prefer SERVICE_TOKEN',
    helpGroup: 'GLOBAL',
    helpValue: 'TOKEN',
  }),
}

/**
 * Base of every command. Rethrows errors: `main` alone turns them into text and exit code, so that
 * all failures look alike.
 */
export abstract class BaseCommand extends Command {
  static override baseFlags = globalFlags

  protected override async catch(error: Error): Promise<never> {
    throw error
  }
}

/** Base of the commands of a user with an account. */
export abstract class AccountCommand extends BaseCommand {
  static override baseFlags = { ...globalFlags, ...registryFlag }

  /** An unexpected argument is often a password: unlike the parser, this does not repeat it. */
  protected override async parse<
    F extends Interfaces.OutputFlags<any>,
    B extends Interfaces.OutputFlags<any>,
    A extends Interfaces.OutputArgs<any>,
  >(
    options?: Interfaces.Input<F, B, A>,
    argv?: string[],
  ): Promise<Interfaces.ParserOutput<F, B, A>> {
    try {
      return await super.parse(options, argv)
    } catch (error) {
      if (!(error instanceof Error) || error.constructor.name !== 'UnexpectedArgsError') throw error
      const name = this.id?.replaceAll(':', ' ') ?? 'the command'
      throw new ServiceError('usage_invalid', `unexpected argument of ${name}`, {
        hint: `passwords, tokens and codes are not arguments: see service-cli ${name} --help`,
      })
    }
  }
}

/** Base of the commands that use a token: one that is given, or the saved login. */
export abstract class TokenCommand extends AccountCommand {
  static override baseFlags = { ...AccountCommand.baseFlags, ...tokenFlag }
}

/** All flags that may stand before a command. */
export const leadingFlags = { ...globalFlags, ...tokenFlag }

/** The flag of commands that prompt. */
export const noInputFlag = {
  'no-input': Flags.boolean({ description: 'never prompt; fail when input is missing' }),
}

/**
 * The flags that give a password without a prompt. Not `exclusive`: the parser would repeat the
 * password in its message.
 */
export const passwordFlags = {
  'password-stdin': Flags.boolean({
    description: 'read the password from stdin; a trailing newline is stripped',
  }),
  password: Flags.string({
    description: 'the password; the shell history keeps it: prefer --password-stdin',
    helpValue: 'PASSWORD',
  }),
}
