/** What the page uses of Preact's hooks. */
export function useState<T>(initial: T | (() => T)): [T, (value: T | ((was: T) => T)) => void];
export function useEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useLayoutEffect(effect: () => void | (() => void), inputs?: readonly unknown[]): void;
export function useRef<T>(initial: T): { current: T };
export function useMemo<T>(make: () => T, inputs: readonly unknown[]): T;
export function useCallback<T extends (...all: any[]) => any>(call: T, inputs: readonly unknown[]): T;
export function useContext<T>(context: { Provider: any } & { __type?: T }): any;
export function useId(): string;
