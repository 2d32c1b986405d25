import { background } from './blender-addon.ts'

const size = { screen: '900x600x24', window: ['0', '0', '640', '400'] }

/** The two ways in which Blender runs. */
export const blenderModes = [
  { mode: 'background', needs: ['blender'], args: background, command: ['blender'] },
  {
    mode: 'gui',
    needs: ['blender', 'xvfb-run', 'openbox'],
    args: ['--factory-startup', '--window-geometry', ...size.window],
    command: [
      'xvfb-run',
      '-a',
      '-s',
      `-screen 0 ${size.screen}`,
      'sh',
      '-c',
      'openbox & exec blender "$@"',
      'sh',
    ],
  },
] as const
