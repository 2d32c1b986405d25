/** How `serve --capture` may be set: which way to a picture of the window is taken. */
export const captureModes = ['auto', 'host', 'native', 'x11', 'off'] as const

export type CaptureMode = (typeof captureModes)[number]
