/** What the page uses of Preact. A node is `any`: templates are not typed. */
export type Node = any;
export function h(type: any, props: any, ...children: any[]): Node;
export function render(node: Node, parent: Element): void;
export function createContext<T>(value: T): { Provider: any };
export const Fragment: any;
export class Component<P = any, S = any> {
    constructor(props?: P);
    props: P;
    state: S;
    setState(state: Partial<S>): void;
    componentDidCatch?(error: any): void;
}
