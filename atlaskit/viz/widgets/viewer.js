// The trace viewer's page: one run, or two side by side.
export default {
  render({ model, el }) {
    let walker = null, wake = () => {};
    const heard = (message) => {
      if (message.is !== "runs" || walker) return;
      walker = new Walker(el, model, message.runs);
      walker.onShown = () => { wake = standIn(el); };
    };
    model.on("msg:custom", heard);
    model.send({ want: "runs" });
    return () => {
      model.off("msg:custom", heard);
      walker?.close();
      wake();
    };
  },
};
