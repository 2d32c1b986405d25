import * as Flags from '@oclif/core/flags'
import { registryDirFlag } from './path-flags.ts'

/** The key for a server. */
export const keyFlag = {
  'api-key-file': Flags.string({
    description: 'file with the API key; overrides SERVICE_MCP_API_KEY',
    helpValue: 'FILE',
  }),
}

/** The flags of a command that talks to a server: its key, and where running servers are. */
export const accessFlags = {
  ...keyFlag,
  'allow-http': Flags.boolean({ description: 'send the key unencrypted to another machine' }),
  ...registryDirFlag,
}

/** The flags that choose a running instance of this machine. */
export const instanceFlags = {
  instance: Flags.string({
    description: 'one of your running instances, by the start of its id',
    helpValue: 'ID',
    exclusive: ['dcc-type'],
  }),
  'dcc-type': Flags.string({
    description: 'the running instance of this kind of application, such as blender',
    helpValue: 'TYPE',
    exclusive: ['instance'],
  }),
  ...registryDirFlag,
}

/** The flags that choose a server and its key. */
export const endpointFlags = {
  url: Flags.string({
    description: 'address of any MCP endpoint, on this or another machine',
    helpValue: 'URL',
    exclusive: ['instance', 'dcc-type'],
  }),
  ...instanceFlags,
  ...accessFlags,
}

/** The variables of a command that sends something over the host link, for its help. */
export const hostEnvironment =
  'Environment: SERVICE_HOST_URL with SERVICE_HOST_TOKEN (instead of the running instance), ' +
  'SERVICE_REGISTRY_DIR.'
