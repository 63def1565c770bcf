/** A tag function for templates: htm.bind(h). */
declare const htm: {
    bind(create: (type: any, props: any, ...children: any[]) => any): (strings: TemplateStringsArray, ...values: any[]) => any;
};
export default htm;
